import { writePage } from './generated.ts';
import { render } from './provider-table.ts';

/** Writes docs/providers.md from the data. */
export default function main(): void {
  writePage('docs/providers.md', render(), 'docs:providers');
}
