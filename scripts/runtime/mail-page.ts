import { CHANNELS, type MailStore, type StoredMail } from './mail-store.js';

const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const people = (addresses: StoredMail['to']) =>
  escape(addresses.map(({ name, address }) => (name ? `${name} <${address}>` : address)).join(', '));

/** The catcher's page: every mail and message, newest first, with the HTML of a mail one click away. */
export function mailPage(store: MailStore): string {
  const mails = [...store.mails()].reverse().map(
    (
      mail,
    ) => `<details><summary><time>${mail.time}</time> <b>${escape(mail.subject)}</b> to ${people(mail.to)}</summary>
<p>From ${people(mail.from)} · <a href="/email/${mail.id}">JSON</a> · <a href="/email/${mail.id}/source">source</a>${mail.html ? ` · <a href="/email/${mail.id}/html">HTML</a>` : ''}</p>
<pre>${escape(mail.text)}</pre></details>`,
  );
  const messages = CHANNELS.map(
    (channel) => `<h2>${channel === 'sms' ? 'Text messages' : 'Push messages'} (${store.messages(channel).length})</h2>
${[...store.messages(channel)]
  .reverse()
  .map(
    ({ time, body }) =>
      `<details><summary><time>${time}</time></summary><pre>${escape(JSON.stringify(body, null, 2))}</pre></details>`,
  )
  .join('\n')}`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Caught mail</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}time{color:#666;font-variant-numeric:tabular-nums}details{border-bottom:1px solid #ddd;padding:.4rem 0}pre{white-space:pre-wrap;background:#f6f6f6;padding:.8rem}</style>
<h1>Caught mail (${store.mails().length})</h1><p>Nothing here left this machine. JSON: <a href="/email">/email</a>, <a href="/sms">/sms</a>, <a href="/push">/push</a>.</p>
${mails.join('\n') || '<p>No mail yet.</p>'}
${messages.join('\n')}</html>`;
}
