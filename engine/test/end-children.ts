// Runs before every test file. The first hook registered runs last: after the hooks of the file.
import { afterAll } from 'vitest';
import { endChildren } from './children.ts';

afterAll(endChildren);
