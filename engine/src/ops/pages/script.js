// What the pages can't do without JavaScript: times in the reader's time zone, buttons that can't be pressed twice, a
// refresh for ten minutes while something is pending, keyboard shortcuts, and buttons that copy.
const $ = (selector) => document.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);

const complete = (part) => {
  for (const time of all('time', part)) time.title = new Date(time.dateTime).toLocaleString();
  for (const keys of all('.keys', part)) keys.hidden = false;
  for (const one of all('[data-copy]', part)) one.append(copyButton(() => one.dataset.copy));
};

const copyButton = (text) =>
  make('button', {
    type: 'button',
    className: 'copy',
    textContent: 'Copy',
    async onclick() {
      await navigator.clipboard.writeText(await text());
      this.textContent = 'Copied';
      setTimeout(() => {
        this.textContent = 'Copy';
      }, 1500);
    },
  });

const setButtons = (disabled) => {
  for (const button of all('button:not(.copy)')) button.disabled = disabled;
};
document.addEventListener('submit', () => {
  document.body.classList.add('loading');
  setTimeout(setButtons, 0, true);
});
addEventListener('beforeunload', () => document.body.classList.add('loading'));
// A page from the browser's back-forward cache still has its buttons disabled.
addEventListener('pageshow', () => {
  document.body.classList.remove('loading');
  setButtons(false);
});

// Shows and announces a message.
const say = (text) => {
  Object.assign($('#live'), { className: 'said', textContent: text });
  setTimeout(() => {
    $('#live').className = 'hidden';
  }, 3000);
};

// Refreshes only the parts that change, and no part in which somebody is reading or typing.
const started = Date.now();
const main = $('main');
const isInUse = (part) => part.contains(document.activeElement) || part.querySelector('details[open]');
const wait = () =>
  main.dataset.refresh && Date.now() - started < 600000 && setTimeout(renew, main.dataset.refresh * 1000);
const renew = async () => {
  if (document.visibilityState === 'visible') {
    try {
      const address = new URL(location.href);
      // Asks for the page without the event's body, which may be long and is already here.
      if (body) address.searchParams.set('live', '1');
      const response = await fetch(address);
      const next = new DOMParser().parseFromString(await response.text(), 'text/html');
      const page = next.querySelector('main');
      // Postgres is back, so replace the error with the requested page.
      if (response.ok && !$('[data-live]')) return location.reload();
      if (response.ok && page) {
        document.title = next.title;
        for (const part of all('[data-live]')) {
          const newPart = page.querySelector(`#${part.id}`);
          if (isInUse(part)) continue;
          if (newPart) {
            part.replaceWith(document.adoptNode(newPart));
            complete(newPart);
          } else part.remove();
        }
        const said = main.dataset.summary;
        if (page.dataset.refresh) main.dataset.refresh = page.dataset.refresh;
        else delete main.dataset.refresh;
        main.dataset.summary = page.dataset.summary;
        if (said !== main.dataset.summary) $('#live').textContent = main.dataset.summary;
      }
    } catch {}
  }
  wait();
};

// j and k move through the list, r presses the button of the row or the first one of the page, Esc leaves a field.
addEventListener('keydown', (event) => {
  const typing = event.target.closest('input, select, textarea');
  if (event.key === 'Escape') typing?.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = all('.event > a');
  const at = links.indexOf(document.activeElement);
  const row = document.activeElement.closest('tr');
  const target = {
    '/': $('input[type=search]'),
    j: links[Math.min(at + 1, links.length - 1)],
    k: links[Math.max(at - 1, 0)],
  }[event.key];
  if (target) {
    event.preventDefault();
    target.closest('details')?.setAttribute('open', '');
    target.focus();
  }
  if (event.key !== 'r') return;
  const button = (row ?? document).querySelector(row ? 'button' : '[data-key=r]');
  if (button) button.click();
  else say(links.length > 0 && !row ? 'First choose an event with j or k.' : 'There is nothing to retry here.');
});

const body = $('#body');
if (body) $('#body-tools').append(copyButton(async () => (await fetch(body.dataset.raw)).text()));
complete(document);
wait();
