import { execFileSync } from 'node:child_process';
import { writePage } from './generated.ts';

/** Writes docs/commands.md from what the commands say about themselves. */
export default function main(): void {
  writePage('docs/commands.md', render(), 'docs:commands');
}

export function render(): string {
  const list = help();
  const names = Array.from(list.matchAll(/^ {2}([\w-]+) /gm), ([, name = '']) => name);
  const sections = names.map((name) => {
    // The sources are those of the app.
    const text = help(name).replace(/^Sources: .*$/m, '');
    return `## ${name}\n\n\`\`\`\n${text.trim()}\n\`\`\``;
  });
  return `<!-- Made from what the commands print with --help: change engine/cli, not this page. -->

# Commands

The scripts in package.json call the package's command \`claimcheck\`. \`npx claimcheck --help\` lists what it can do, and each command takes \`--help\`.

| command | what it does |
| --- | --- |
${Array.from(list.matchAll(/^ {2}([\w-]+) +(.*)$/gm), ([, name = '', text = '']) => `| [${scriptOf(name)}](#${name}) | ${text} |`).join('\n')}
| \`npm test\` | runs your tests (\`npm test -- --watch\`) |
| \`npm run format\` | formats your files |
| \`npm run db:generate\` | writes a migration from your tables, into \`drizzle/\` |

${sections.join('\n\n')}
`;
}

function help(...command: string[]): string {
  return execFileSync(process.execPath, ['engine/cli/claimcheck.mjs', ...command, '--help'], { encoding: 'utf8' });
}

function scriptOf(name: string): string {
  return `\`npm run ${name === 'migrate' || name === 'roles' ? `db:${name}` : name}\``;
}
