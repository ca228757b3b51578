/** A page of another origin, which a test opens in the browser of an operator. */

const page = globalThis.document;

/** What a foreign page does to the dashboard at `target`, in the browser of an operator who is signed in. */
async function attack(target) {
  const outcomes = [];
  const note = (what, outcome) => {
    outcomes.push(`${what}: ${String(outcome)}`);
  };
  const put = { method: 'PUT', body: '{"name":"Mallory"}' };
  const user = `${target}/dashboard/api/v1/users/ana`;
  for (const [what, url, init] of [
    ['read', user, {}],
    ['read with the header', user, { headers: { 'X-Laurel-Dashboard': '1' } }],
    ['change', user, put],
    ['change with the header', user, { ...put, headers: { 'X-Laurel-Dashboard': '1' } }],
    ['simple post', `${target}/dashboard/api/v1/users`, { method: 'POST', body: '{"id":"mallory"}' }],
    ['sign out', `${target}/dashboard/session`, { method: 'DELETE' }],
    ['opaque post', `${target}/dashboard/api/v1/users`, { method: 'POST', body: '{"id":"mallory"}', mode: 'no-cors' }],
    ['opaque read', user, { mode: 'no-cors' }],
  ]) {
    await fetch(url, { credentials: 'include', ...init }).then(
      (response) => note(what, response.type === 'opaque' ? 'opaque' : response.status),
      () => note(what, 'refused by the browser'),
    );
  }
  const loaded = (tag, url) =>
    new Promise((resolve) => {
      const element = page.createElement(tag);
      element.onload = () => resolve('loaded');
      element.onerror = () => resolve('failed');
      element.src = url;
      page.body.append(element);
    });
  note('image', await loaded('img', `${target}/dashboard/api/v1/users/ana`));
  note('script', await loaded('script', `${target}/dashboard/api/v1/users/ana`));
  const submitted = (body) =>
    new Promise((resolve) => {
      const frame = page.createElement('iframe');
      frame.name = `frame-${String(page.querySelectorAll('iframe').length)}`;
      page.body.append(frame);
      const form = page.createElement('form');
      Object.assign(form, { action: `${target}/dashboard/api/v1/users`, method: 'post', enctype: 'text/plain', target: frame.name });
      const field = page.createElement('input');
      Object.assign(field, { name: body, value: '' });
      form.append(field);
      page.body.append(form);
      frame.onload = () => resolve('answered');
      form.submit();
    });
  note('form', await submitted('{"id":"mallory"}'));
  return outcomes;
}

/** Opens documents of the dashboard at `target` in frames, and waits for them. */
function frame(target) {
  const opened = (path) =>
    new Promise((resolve) => {
      const element = page.createElement('iframe');
      element.onload = resolve;
      element.src = target + path;
      page.body.append(element);
    });
  return Promise.all([opened('/dashboard'), opened('/dashboard/preview')]);
}

Object.assign(globalThis, { attack, frame });
