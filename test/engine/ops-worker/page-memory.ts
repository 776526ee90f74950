// A process with one ops Worker, as it is built, and one event in place of Postgres. It asks for the event's page, as a browser
// does while an event is pending, and prints the size of the page, and its small print. page-memory.test.ts limits its heap.
import { text } from 'node:stream/consumers';

const [script = '', path = ''] = process.argv.slice(2);
const input = await text(process.stdin);
const end = input.indexOf('\n');
/** The columns of the event, as Postgres writes them. The body isn't read as JSON, which could take more memory than its page. */
const row: Record<string, unknown> = { ...JSON.parse(input.slice(0, end)), body: input.slice(end + 1) };

// Neon's HTTP interface answers every value as text. The only number among the parameters says how much of the body is wanted.
globalThis.fetch = async (_url, init) => {
  const { params }: { params: string[] } = JSON.parse(String(init?.body));
  const wanted = Number(params.find((param) => /^\d+$/.test(param)));
  const values = { ...row, body: String(row.body).slice(0, wanted), body_length: String(row.body).length };
  return Response.json({
    command: 'SELECT',
    rowCount: 1,
    rowAsArray: true,
    fields: Object.entries(values).map(([name, value]) => ({ name, dataTypeID: typeOf(value) })),
    rows: [Object.values(values).map((value) => (typeOf(value) === JSON_TYPE ? JSON.stringify(value) : value))],
  });
};

const TEXT_TYPE = 25;
const INTEGER_TYPE = 23;
const JSON_TYPE = 114;
function typeOf(value: unknown): number {
  if (typeof value === 'number') return INTEGER_TYPE;
  return typeof value === 'object' && value !== null ? JSON_TYPE : TEXT_TYPE;
}

const { default: worker } = await import(script);
const token = 'an-operator-token-of-more-than-32-characters';
const env = { OPS_TOKEN: token, DATABASE_URL: 'postgres://claimcheck_ops:x@127.0.0.1:1/claimcheck' };
const headers = { authorization: `Bearer ${token}` };
for (let times = 0; times < 3; times++) {
  const response: Response = await worker.fetch(new Request(`https://ops.example.com${path}`, { headers }), env, {});
  const page = await response.text();
  const sentences = Array.from(page.matchAll(/<p class="quiet">(.*?)<\/p>/g), ([, sentence]) => sentence);
  if (times === 2) console.log(JSON.stringify({ status: response.status, length: page.length, sentences }));
}
