import { describe, expect, it } from 'vitest';
import { proofOf } from '../../../workshop/proofs.ts';
import { names, providerOf } from '../../verify/deliveries.ts';
import { checksOf } from './checks.ts';

describe.each(names)('%s', (name) => {
  it('has two deliveries that are two events', () => {
    expect(Object.keys(proofOf(name).pairs.apart)).not.toEqual([]);
  });

  it.each(checksOf(name))('$what', ({ run }) => run(providerOf(name)));
});
