// Calls to the server, what they fail with, and how a page says so.

const PATIENCE = 30; // seconds without an answer after which a request has failed
export const SIGNED_OUT = "Your session has ended: sign in again in another tab.";
const STATUS = { signedOut: 401, notAllowed: 403, unavailable: 503 };

export const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

// A key for what this person keeps in the browser. All workspaces that are ever served at an address share its storage,
// and their people, queues and items have the same numbers: the ledger's name keeps them apart.
export const storageKey = (kind, ...parts) => ["regrade", kind, meta("ledger"), meta("person"), ...parts].join(" ");

// The server has understood a request and refuses it; the message says why.
export class Refused extends Error {}

// There is no answer that can be used: no connection, or a server with a problem. The same request may work later.
export class Trouble extends Error {
  constructor({ status = 0, retryAfter = null, reason = "" } = {}) {
    super(`no usable answer (${status})`);
    Object.assign(this, { status, retryAfter, reason });
  }
}

export const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export async function call(address, body, options = {}) {
  const answer = await request(address, body, options);
  if (answer.status === STATUS.notAllowed && body !== undefined && (await renewToken())) return call(address, body, options);
  return content(answer);
}

export async function request(address, body, options = {}) {
  const headers = { Accept: "application/json", ...(meta("ledger") && { "X-Regrade-Ledger": meta("ledger") }) };
  if (body !== undefined) Object.assign(headers, { "Content-Type": "application/json", "X-Regrade-Token": meta("token") });
  try {
    return await fetch(address, {
      method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(1000 * PATIENCE), ...options,
    });
  } catch {
    throw new Trouble();
  }
}

async function content(answer) {
  let reply = null;
  try {
    reply = JSON.parse(await answer.text());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new Trouble();
  }
  if (answer.ok && reply !== null) return reply;
  // What is not in the form of our own refusals comes from something between us and the server.
  if (answer.status < 500 && typeof reply?.error === "string") {
    throw Object.assign(new Refused(reply.error), { status: answer.status, code: reply.code });
  }
  throw troubleOf(answer, typeof reply?.error === "string" ? reply.error : "");
}

export function troubleOf(answer, reason = "") {
  const seconds = Number(answer.headers.get("Retry-After") ?? Number.NaN);
  return new Trouble({ status: answer.status, retryAfter: seconds > 0 ? Math.ceil(seconds) : null, reason });
}

async function renewToken() {
  // Whether someone who has signed in again, in another tab, can go on with this page: it takes their new token.
  const page = new DOMParser().parseFromString(await (await request(location.href)).text(), "text/html");
  const fresh = (name) => page.querySelector(`meta[name="${name}"]`)?.content ?? "";
  if (!fresh("token") || fresh("token") === meta("token") || fresh("person") !== meta("person")) return false;
  document.querySelector('meta[name="token"]').content = fresh("token");
  return true;
}

export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Whether the same request may work later: the server is back, or someone has signed in again.
export const mayPass = (error) => error instanceof Trouble || (error instanceof Refused && [STATUS.signedOut, STATUS.notAllowed].includes(error.status));

export function explain(error) {
  // Any error as a sentence for people.
  if (error instanceof Refused && error.status === STATUS.signedOut) return SIGNED_OUT;
  if (error instanceof Refused) return `${sentence(error.message)}.`;
  if (!(error instanceof Trouble)) return `This page has a problem (${error.message}): load it again.`;
  if (error.status === STATUS.unavailable && error.retryAfter) {
    const what = error.reason.split(":")[0] || "the database is not available"; // what follows is to try again, as is done
    return `${sentence(what)}; trying again in ${error.retryAfter} s.`;
  }
  if (error.status) return `The server has a problem (error ${error.status})${error.reason ? `: ${error.reason}` : ""}.`;
  return navigator.onLine ? "No connection to the server." : "No connection: this computer is offline.";
}

export function notice(text, seconds = 0) {
  const place = document.getElementById("notice");
  clearTimeout(notice.timer);
  place.textContent = text;
  place.hidden = !text;
  if (seconds) notice.timer = setTimeout(() => { place.hidden = true; }, 1000 * seconds);
}

// What the server refused stays on the page until it is dismissed, or something else is done.
export function refusal(text) {
  const place = document.getElementById("refusal");
  const line = document.createElement("p");
  line.textContent = text;
  place.firstElementChild.append(line);
  place.hidden = false;
  place.querySelector("button").onclick = clearRefusals;
}

export function clearRefusals() {
  const place = document.getElementById("refusal");
  place.firstElementChild.replaceChildren();
  place.hidden = true;
}

// Says why something failed that someone asked for: a refusal stays, trouble passes.
export function tellFailure(error, { doing = "" } = {}) {
  const text = [doing, explain(error)].filter(Boolean).join(" ");
  if (error instanceof Refused) refusal(text);
  else notice(text, 8);
}
