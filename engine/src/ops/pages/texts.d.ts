// What is imported `with { type: 'text' }`. A pattern such as *.js would make any misspelt import a text.
declare module '*/style.css' {
  const text: string;
  export default text;
}
declare module '*/script.js' {
  const text: string;
  export default text;
}
