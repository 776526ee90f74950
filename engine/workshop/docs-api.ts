import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writePage } from './generated.ts';

/** The package's entries that an app imports, beside the providers. */
const ENTRIES = [
  '.',
  './receiver',
  './consumer',
  './ops',
  './reconcile',
  './tenants',
  './jose',
  './x5c',
  './certificates',
  './testing',
];

/** Writes docs/api.md from the exports of the package, their types and the comments above them. */
export default function main(): void {
  writePage('docs/api.md', render(), 'docs:api');
}

export function render(): string {
  const { exports } = JSON.parse(readFileSync('engine/package.json', 'utf8')) as { exports: Record<string, string> };
  const entries = ENTRIES.map((entry) => {
    const declarations = exportsOf(join('engine', exports[entry] ?? '')).filter(({ isPublic }) => isPublic);
    return `## \`claimcheck${entry.slice(1)}\`\n\n${declarations.map(sectionOf).join('\n\n')}`;
  });
  return `<!-- Made from the exports of the package and the comments above them: change those, not this page. -->

# What the package exports

Everything that your code imports, beside the providers (\`import { stripe } from 'claimcheck/providers/stripe'\`) and the engine's tables for reports
of your own (\`claimcheck/schema\`). What is not exported may change in any version.

${entries.join('\n\n')}
`;
}

/** Lines of an example. */
const SHORT = 5;

interface Declaration {
  readonly name: string;
  /** Whatever an app may use has an example. */
  readonly isPublic: boolean;
  /** The text of the comment above it, without its example. */
  readonly comment: string;
  readonly example: string;
  readonly code: string;
}

/** In the order of the file's exports. */
function exportsOf(file: string): Declaration[] {
  const text = readFileSync(file, 'utf8');
  const forwarded = text.matchAll(/^export (?:type )?(?:\*|\{([^}]*)\}) from '([^']+)';/gm);
  const others = Array.from(forwarded, ([, names, path = '']) => {
    const declarations = exportsOf(join(dirname(file), path));
    const wanted = names?.split(',').map((name) => name.replace('type ', '').trim());
    return wanted ? declarations.filter(({ name }) => wanted.includes(name)) : declarations;
  });
  return [...others.flat(), ...declarationsIn(text)];
}

/** The formatter has put each declaration at the beginning of a line, and its end at the beginning or the end of one. */
function declarationsIn(text: string): Declaration[] {
  const heads = text.matchAll(
    /^(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n(?:\/\/.*\n)*)?export (?:async )?(function|class|interface|type) (\w+)/gm,
  );
  return Array.from(heads, (match) => {
    const [head, comment = '', kind, name = ''] = match;
    const lines = comment.split('\n').map((line) => line.replace(/^ *\* ?/, '').trimEnd());
    const at = lines.indexOf('@example');
    const said = at === -1 ? lines : lines.slice(0, at);
    const example = at === -1 ? [] : lines.slice(at + 1, -1);
    const begin = match.index + head.lastIndexOf('export ');
    return {
      name,
      isPublic: at !== -1,
      comment: said.join(' ').trim(),
      // A short example of a type shows less than the type itself.
      example: kind !== 'type' && (kind !== 'interface' || example.length > SHORT) ? example.join('\n') : '',
      code: (kind === 'class' ? classOf : codeOf)(text.slice(begin).split('\n')),
    };
  });
}

/** Up to the line on which its brackets are closed again. Of a function, without its body. */
function codeOf(lines: readonly string[]): string {
  let depth = 0;
  const code: string[] = [];
  const isFunction = /^export (async )?function/.test(lines[0] ?? '');
  for (const line of lines) {
    const signature = line.replace(/ \{$/, '');
    if (isFunction && depth + bracketsOf(signature) === 0) {
      code.push(signature);
      break;
    }
    depth += bracketsOf(line);
    code.push(line);
    if (depth === 0 && /[;}]$/.test(line)) break;
  }
  return code.join('\n').replace(/^export (async )?/, '');
}

/** How many brackets a line opens, less those that it closes. */
function bracketsOf(line: string): number {
  return (line.match(/[({[]/g) ?? []).length - (line.match(/[)}\]]/g) ?? []).length;
}

/** Its head, and how it is made. */
function classOf(lines: readonly string[]): string {
  const made = lines.find((line) => line.startsWith('  constructor(')) ?? '';
  const [head = ''] = lines;
  const body = made && lines.indexOf(made) < lines.indexOf('}') ? `${made.replace(/ \{$/, ';')}\n` : '';
  return `${head.replace('export ', '')}\n${body}}`;
}

function sectionOf({ name, comment, example, code }: Declaration): string {
  const text = example ? `${code}\n\n// Example:\n${example}` : code;
  return `### ${name}\n\n${comment}\n\n\`\`\`ts\n${text}\n\`\`\``;
}
