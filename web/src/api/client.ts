const timeout = 30_000;
const tokenKey = "laxity.token";

/** A problem as RFC 9457 describes it, or the nearest to it that could be made of what came back. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly advice = "",
  ) {
    super(detail || title);
    this.name = "ApiError";
  }
}

export type Params = Record<string, string | number | boolean | readonly string[] | null | undefined>;

export function url(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (Array.isArray(value)) for (const one of value) query.append(key, String(one));
    else if (value !== undefined && value !== null && value !== "") query.set(key, String(value));
  }
  const text = query.toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

/** Asks for JSON. A status in `also` counts as an answer like 200. */
export async function getJSON<T>(path: string, params: Params, signal?: AbortSignal, also: number[] = []): Promise<T> {
  const response = await send(path, params, "application/json", signal, also);
  return (await response.json()) as T;
}

export async function getText(path: string, params: Params, signal?: AbortSignal): Promise<string> {
  return (await send(path, params, "text/markdown, text/plain, application/json", signal)).text();
}

/** Changes something, and answers with what the server made of it. */
export async function change<T>(method: "POST" | "DELETE", path: string, body?: object): Promise<T> {
  return (await (await send(path, {}, "application/json", undefined, [], { method, ...(body ? { body: JSON.stringify(body) } : {}) })).json()) as T;
}

export function saveToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(tokenKey) !== null;
}

async function send(path: string, params: Params, accept: string, signal?: AbortSignal, also: number[] = [], change: RequestInit = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept };
  if (change.body) headers["Content-Type"] = "application/json";
  const token = sessionStorage.getItem(tokenKey);
  if (token) headers["Authorization"] = `Bearer ${token}`;
  const limit = AbortSignal.timeout(timeout);
  let response: Response;
  try {
    response = await fetch(url(path, params), { ...change, headers, signal: signal ? AbortSignal.any([signal, limit]) : limit });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    if (limit.aborted) throw new ApiError(0, "No answer in 30 s", "The server is busy or the window is very wide.", "Try a shorter time range.");
    throw new ApiError(0, "Laxity does not answer", "The connection failed.", "Start it with laxity up, then try again.");
  }
  if (!response.ok && !also.includes(response.status)) throw await problem(response);
  return response;
}

async function problem(response: Response): Promise<ApiError> {
  const type = response.headers.get("Content-Type") ?? "";
  if (type.includes("json")) {
    const body = (await response.json().catch(() => ({}))) as { title?: string; detail?: string; advice?: string };
    return new ApiError(response.status, body.title ?? response.statusText, body.detail ?? "", body.advice ?? "");
  }
  return new ApiError(response.status, response.statusText || `Status ${response.status}`, "");
}
