/**
 * JSON for the vectors, every digit of it: `JSON.parse` would round integers beyond 2^53, so those are kept as texts with a mark.
 */

const MARK = "\u0001";

/** The value of this text; an integer that would be rounded is a marked text. */
export function exactParse(text: string): unknown {
  // Texts are matched first, so that digits within them stay as they are.
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? JSON.stringify(MARK + token) : token,
  );
  return JSON.parse(marked);
}

/** The text of a value that was parsed so. */
export function exactText(value: unknown): string {
  return JSON.stringify(value).replace(/"\\u0001(-?\d+)"/g, "$1");
}

/** Is there such an integer in the value? */
export function holdsExact(value: unknown): boolean {
  return JSON.stringify(value).includes('"\\u0001');
}
