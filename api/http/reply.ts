import { contentTag } from './conventions/etag.js';

/** An answer with more than a body. */
export class Reply {
  constructor(
    readonly status: number,
    readonly body?: unknown,
    /** A list sends the header several times. */
    readonly headers: Record<string, string | string[]> = {},
  ) {}
}
export const created = (body: unknown): Reply => new Reply(201, body);
/** A single resource without a version, with a tag of its whole content. */
export const withContentTag = (body: object): Reply => new Reply(200, body, { ETag: contentTag(body) });
export const accepted = (body: unknown): Reply => new Reply(202, body);
export const noContent = (): Reply => new Reply(204);
export const reply = (status: number, body?: unknown, headers?: Record<string, string | string[]>): Reply =>
  new Reply(status, body, headers);
