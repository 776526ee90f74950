// The files that are imported `with { type: 'text' }`. A pattern such as *.js would accept any misspelt import as a
// text.
declare module '*/style.css' {
  const text: string;
  export default text;
}
declare module '*/script.js' {
  const text: string;
  export default text;
}
