/** One file, with variables for light and dark. On a narrow screen, tables become cards. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --text: #16202c; --quiet: #55616f; --line: #d6dbe1;
  --link: #0b57b7; --accent: #0b57b7; --on-accent: #ffffff;
  --good: #0f6b3a; --good-soft: #e3f4ea; --bad: #a8231b; --bad-soft: #fcebe9; --warn: #7a5200; --warn-soft: #fdf3da;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11161d; --card: #1a212b; --text: #e7ecf2; --quiet: #a3afbd; --line: #36414f;
    --link: #8ab8ff; --accent: #8ab8ff; --on-accent: #0c1520;
    --good: #7fd8a4; --good-soft: #16301f; --bad: #ff9b92; --bad-soft: #3a1b19; --warn: #f0c668; --warn-soft: #33290f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
header, main { max-width: 76rem; margin: 0 auto; padding: 0 1rem; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem; padding-top: .75rem; padding-bottom: .75rem; }
main { padding-bottom: 4rem; }
main:focus { outline: none; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: .5rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.125rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .875em; }
code { overflow-wrap: anywhere; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.brand { font-size: 1.0625rem; }
.quiet { color: var(--quiet); font-weight: normal; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; margin: 0; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .5rem 1rem; z-index: 1; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
header nav a { color: inherit; text-decoration: none; padding: .375rem 0; }
header nav a[aria-current] { font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
.visitor { margin-left: auto; display: flex; align-items: center; gap: .75rem; color: var(--quiet); font-size: .875rem; overflow-wrap: anywhere; }
.crumbs { color: var(--quiet); margin: 0; }
.banner { padding: .75rem 1rem; border-radius: .5rem; background: var(--warn-soft); color: var(--warn); border: 1px solid currentColor; overflow-wrap: anywhere; }
.banner.good { background: var(--good-soft); color: var(--good); }
.banner.bad { background: var(--bad-soft); color: var(--bad); }
.banner a { color: inherit; }
.banner .facts { border: 0; background: none; padding: .5rem 0 0; }
.empty { padding: 1.5rem 1rem; border: 1px dashed var(--line); border-radius: .5rem; color: var(--quiet); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.figures > div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }
.figures dt { color: var(--quiet); font-size: .875rem; }
.figures dd { margin: 0; font-size: 1.625rem; font-weight: 600; line-height: 1.3; }
.figures dd .quiet { display: block; font-size: .8125rem; }
.figures .bad { border-color: var(--bad); background: var(--bad-soft); }
.figures .bad dd, .figures .bad dd a, a.bad { color: var(--bad); font-weight: 600; }
.figures .bad dt { color: var(--bad); }
table { width: 100%; border-collapse: separate; border-spacing: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
th, td { text-align: left; padding: .5rem .75rem; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-size: .8125rem; font-weight: 600; }
tbody th { font-weight: normal; overflow-wrap: anywhere; }
td { overflow-wrap: anywhere; }
.error { max-width: 28rem; color: var(--quiet); font-size: .875rem; }
.key { max-width: 12rem; font-size: .875rem; }
.chart { display: block; width: 12rem; max-width: 100%; height: 2.5rem; }
.chart rect { fill: var(--accent); }
.chart rect.none { fill: var(--line); }
.status { display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: .8125rem; font-weight: 600; line-height: 1.6; border: 1px solid currentColor; color: var(--quiet); }
.status.done, .status.sent { color: var(--good); background: var(--good-soft); }
.status.parked { color: var(--bad); background: var(--bad-soft); }
.status.pending { color: var(--warn); background: var(--warn-soft); }
.facts { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .25rem 1rem; margin: .5rem 0; overflow-wrap: anywhere; }
.facts dt { color: var(--quiet); max-width: 14rem; }
.facts dd { margin: 0; min-width: 0; }
.banner .facts dt { color: inherit; }
.timeline { list-style: none; margin: .5rem 0; padding: 0 0 0 1rem; border-left: 2px solid var(--line); overflow-wrap: anywhere; }
.timeline li { position: relative; padding: 0 0 .75rem; }
.timeline li::before { content: ''; position: absolute; left: calc(-1rem - 6px); top: .5em; width: 10px; height: 10px; border-radius: 50%; background: var(--accent); }
.timeline li.future::before { background: var(--page); border: 2px solid var(--quiet); width: 6px; height: 6px; }
.body { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; max-height: 32rem; overflow: auto; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: flex-start; margin: 1rem 0; }
.actions details[open] { flex-basis: 100%; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; }
details > summary { cursor: pointer; }
.actions summary { list-style: none; }
.actions summary::-webkit-details-marker { display: none; }
button, .button, input, select { font: inherit; min-height: 2.75rem; padding: .5rem .875rem; border-radius: .375rem; border: 1px solid var(--quiet); background: var(--card); color: var(--text); }
button, .button { display: inline-block; cursor: pointer; text-decoration: none; font-weight: 500; }
.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.danger { background: var(--card); border-color: var(--bad); color: var(--bad); }
.plain { border: 0; background: none; color: var(--link); text-decoration: underline; padding: .25rem; }
button:disabled { opacity: .6; cursor: progress; }
input, select { width: 100%; padding: .375rem .5rem; }
label { display: block; color: var(--quiet); font-size: .875rem; }
label.check { display: flex; gap: .75rem; align-items: flex-start; margin: .75rem 0; font-size: 1rem; color: inherit; }
.check input { width: 1.25rem; min-height: 1.25rem; margin: .15rem 0 0; flex: none; }
details form { display: grid; gap: .5rem; margin-top: .75rem; justify-items: start; }
details form label { width: 100%; max-width: 32rem; }
.filter { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .5rem .75rem; align-items: end; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }
.filter .spans { grid-column: 1 / -1; margin: 0; font-size: .875rem; color: var(--quiet); }
.filter .spans a { display: inline-block; padding: .25rem .25rem; }
.confirm { max-width: 40rem; }
.sign-in { max-width: 24rem; margin: 3rem auto; display: grid; gap: .75rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.5rem 1.5rem; }
.pages { justify-content: flex-end; margin: 1rem 0; }
.pages a { padding: .5rem; }
@media (max-width: 48rem) {
  .cards, .cards tbody, .cards tr, .cards th, .cards td { display: block; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cards { border: 0; background: none; }
  .cards tr { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 .75rem; padding: .5rem 0; }
  .cards th, .cards td { border: 0; padding: .25rem .875rem; max-width: none; }
  .cards td { display: grid; grid-template-columns: 8.5rem 1fr; gap: .5rem; }
  .cards td > * { min-width: 0; justify-self: start; }
  .cards td > .chart { justify-self: stretch; }
  .cards td::before { content: attr(data-label); color: var(--quiet); font-size: .875rem; }
  .facts { grid-template-columns: 1fr; }
  .facts dd { margin: 0 0 .5rem; }
}
`;

export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b57b7"/>' +
  '<path d="M4 8.5l2.5 2.5L12 5.5" fill="none" stroke="#fff" stroke-width="2"/></svg>';
