import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { searchCommand } from './canaries/commands.ts';

const SHARED = ['src', 'scripts', 'drizzle', 'package.json', 'wrangler.toml', 'wrangler.consumer.toml'];

const EMPTY_APP = {
  'sources.ts': 'export const sources = {};',
  'tables.ts': '',
  'handlers/index.ts': 'export const handlers = {};',
  'effects/index.ts': 'export const effects = {};',
  'samples.ts': 'export const samples = {}; export const answers = () => undefined;',
};

/** A copy of the checkout in a temporary folder with another app in src/app: what is tested must not depend on the user's. */
export class Checkout {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(app: Record<string, string> = {}): Promise<Checkout> {
    const folder = await mkdtemp(join(tmpdir(), 'claimcheck-checkout-'));
    for (const file of SHARED) await cp(file, join(folder, file), { recursive: true });
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    await rm(join(folder, 'src/app'), { recursive: true });
    for (const [file, text] of Object.entries({ ...EMPTY_APP, ...app })) {
      const path = join(folder, 'src/app', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    return new Checkout(folder);
  }

  /** Runs a script to its end, as `npm run` does. */
  async run(
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<{ code: number | null; out: string; error: string }> {
    const options = { cwd: this.folder, env: { ...process.env, ...env } };
    const child = spawn(process.execPath, ['scripts/run.mjs', ...args], options);
    let [out, error] = ['', ''];
    child.stdout.on('data', (chunk) => (out += chunk));
    child.stderr.on('data', (chunk) => (error += chunk));
    const [code] = await once(child, 'close');
    searchCommand(this.folder, env, args, out + error);
    return { code: code as number | null, out, error };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
