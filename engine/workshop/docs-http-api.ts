import { table, WORKSHOP, writeSections } from './generated.ts';
import { openApi } from './ops-api.ts';

/** Writes the list of operations in docs/http-api.md, from the description of the API. */
export default function main(): void {
  writeSections(
    [{ page: 'docs/http-api.md', name: 'operations', command: WORKSHOP, lines: operations() }],
    'docs:http-api',
  );
}

interface Operation {
  readonly summary: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: { readonly properties?: object } } };
  };
}

function operations(): string[] {
  const rows = Object.entries(openApi.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, { summary, parameters = [], requestBody }]) => {
      const query = parameters.filter((one) => one.in === 'query').map(({ name }) => `\`${name}\``);
      const fields = Object.keys(requestBody?.content['application/json'].schema.properties ?? {});
      return [
        `\`${method.toUpperCase()} ${path}\``,
        summary,
        query.join(', '),
        fields.map((name) => `\`${name}\``).join(', '),
      ];
    }),
  );
  return table(['operation', 'what it does', 'query', 'fields of the body'], rows);
}
