// Calls to the server, their errors, and the messages that a page shows.

const TIMEOUT = 30; // seconds
export const SIGNED_OUT = "Your session has ended: sign in again in another tab.";
const STATUS = { signedOut: 401, notAllowed: 403, unavailable: 503 };

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

// A key for the browser storage. All workspaces that are ever served at an address share its storage, and their people,
// queues and items have the same ids, so the key contains the ledger's name.
export const storageKey = (kind, ...parts) => ["regrade", kind, meta("ledger"), meta("person"), ...parts].join(" ");

// The server refused the request; the message says why.
export class Refused extends Error {}

// No usable response: no connection, or a server error. The same request may work later.
export class ServiceError extends Error {
  constructor({ status = 0, retryAfter = null, reason = "" } = {}) {
    super(`no usable response (${status})`);
    Object.assign(this, { status, retryAfter, reason });
  }
}

export const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export async function call(address, body, options = {}) {
  const response = await request(address, body, options);
  if (response.status === STATUS.notAllowed && body !== undefined && (await renewToken())) return call(address, body, options);
  return content(response);
}

export async function request(address, body, options = {}) {
  const headers = { Accept: "application/json", ...(meta("ledger") && { "X-Regrade-Ledger": meta("ledger") }) };
  if (body !== undefined) Object.assign(headers, { "Content-Type": "application/json", "X-Regrade-Token": meta("token") });
  try {
    return await fetch(address, {
      method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(1000 * TIMEOUT), ...options,
    });
  } catch {
    throw new ServiceError();
  }
}

async function content(response) {
  let reply = null;
  try {
    reply = JSON.parse(await response.text());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new ServiceError();
  }
  if (response.ok && reply !== null) return reply;
  // An error in another format comes from a proxy between the browser and the server.
  if (response.status < 500 && typeof reply?.error === "string") {
    throw Object.assign(new Refused(reply.error), { status: response.status, code: reply.code });
  }
  throw serviceErrorOf(response, typeof reply?.error === "string" ? reply.error : "");
}

export function serviceErrorOf(response, reason = "") {
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return new ServiceError({ status: response.status, retryAfter: seconds > 0 ? Math.ceil(seconds) : null, reason });
}

async function renewToken() {
  // Takes the new token of a person who signed in again in another tab; resolves to whether there is one.
  const page = new DOMParser().parseFromString(await (await request(location.href)).text(), "text/html");
  const fresh = (name) => page.querySelector(`meta[name="${name}"]`)?.content ?? "";
  if (!fresh("token") || fresh("token") === meta("token") || fresh("person") !== meta("person")) return false;
  document.querySelector('meta[name="token"]').content = fresh("token");
  return true;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Whether the same request may work later: once the server is back, or after a new sign-in.
export const mayPass = (error) => error instanceof ServiceError || (error instanceof Refused && [STATUS.signedOut, STATUS.notAllowed].includes(error.status));

export function explain(error) {
  // An error as a sentence.
  if (error instanceof Refused && error.status === STATUS.signedOut) return SIGNED_OUT;
  if (error instanceof Refused) return `${sentence(error.message)}.`;
  if (!(error instanceof ServiceError)) return `This page has a problem (${error.message}): reload it.`;
  if (error.status === STATUS.unavailable && error.retryAfter) {
    const what = error.reason.split(":")[0] || "the database is not available"; // the rest asks to try again, which happens anyway
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

// A refusal stays on the page until it is dismissed or the next action begins.
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

// Shows why an action failed: a refusal stays, other errors disappear after some seconds.
export function showFailure(error, { doing = "" } = {}) {
  const text = [doing, explain(error)].filter(Boolean).join(" ");
  if (error instanceof Refused) refusal(text);
  else notice(text, 8);
}
