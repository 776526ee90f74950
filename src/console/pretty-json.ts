/**
 * JSON with line breaks and indents, and every other character as it was: to parse it and write it again would round
 * long numbers, and lose repeated keys. `undefined` if the text is not JSON.
 */
export function prettyJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  return tokens
    .map((token, index) => {
      const before = tokens[index - 1];
      switch (token) {
        case '{':
        case '[':
          depth++;
          return isEnd(tokens[index + 1]) ? token : token + line();
        case '}':
        case ']':
          depth--;
          return before === '{' || before === '[' ? token : line() + token;
        case ',':
          return token + line();
        case ':':
          return ': ';
        default:
          return token;
      }
    })
    .join('');
}

function isEnd(token: string | undefined): boolean {
  return token === '}' || token === ']';
}
