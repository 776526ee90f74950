// What the pages can't do without JavaScript: times in the reader's time zone, buttons that can't be pressed twice, and
// pages that renew themselves for ten minutes while something is pending.
const localTimes = () => {
  for (const time of document.querySelectorAll('time')) time.title = new Date(time.dateTime).toLocaleString();
};
localTimes();

const setButtons = (root, disabled) => {
  for (const button of root.querySelectorAll('button')) button.disabled = disabled;
};
document.addEventListener('submit', ({ target }) => setTimeout(setButtons, 0, target, true));
// A page that the browser kept shows its buttons as they were.
addEventListener('pageshow', () => setButtons(document, false));

const started = Date.now();
const main = document.querySelector('main');
const isInUse = () =>
  (main !== document.activeElement && main.contains(document.activeElement)) || main.querySelector('details[open]');
const wait = () =>
  main.dataset.refresh && Date.now() - started < 600000 && setTimeout(renew, main.dataset.refresh * 1000);
const renew = async () => {
  if (document.visibilityState === 'visible' && !isInUse()) {
    try {
      const response = await fetch(location.href);
      const page = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('main');
      if (response.ok && page && !isInUse()) {
        const said = main.dataset.summary;
        main.replaceChildren(...page.childNodes);
        if (page.dataset.refresh) main.dataset.refresh = page.dataset.refresh;
        else delete main.dataset.refresh;
        main.dataset.summary = page.dataset.summary;
        if (said !== main.dataset.summary) document.querySelector('#live').textContent = main.dataset.summary;
        localTimes();
      }
    } catch {}
  }
  wait();
};
wait();
