/**
 * Exact JSON. `JSON.parse` rounds integers beyond 2^53; where that matters, arguments go out as text and results come in as text.
 *
 * ```ts
 * const text = await client.callTool({ name: "get", arguments: rawJson('{"id":9007199254740993}') }, { rawJson: true });
 * ```
 */
export class RawJson {
  /** The JSON text. */
  readonly text: string;

  /** Checks that the text is JSON, and throws a `SyntaxError` if it is not. */
  constructor(text: string) {
    JSON.parse(text);
    this.text = text;
  }

  /** It stands for all arguments, params or extensions; as a part of them it would come out as something else. */
  toJSON(): never {
    throw new TypeError("rawJson stands for the whole of the arguments, params or extensions, not for a part of them");
  }
}

/** JSON that is sent as it is written, every digit of it. */
export function rawJson(text: string): RawJson {
  return new RawJson(text);
}

type Replacer = (name: string, value: unknown) => unknown;

/** The JSON of these params; of the one member that may be exact, the text as it was given. @internal */
export function paramsText(params: object, exact: string, replacer?: Replacer): string {
  const { [exact]: member, ...others } = params as Record<string, unknown>;
  if (!(member instanceof RawJson)) {
    return JSON.stringify(params, replacer);
  }
  const text = JSON.stringify(others, replacer);
  return `${text.slice(0, -1)}${text === "{}" ? "" : ","}${JSON.stringify(exact)}:${member.text}}`;
}

/** Options as JSON. What is no number would come out as null, as if it were not given. @internal */
export function optionsText(options: object): string {
  return paramsText(options, "extensions", (name, value) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new TypeError(`${name}: ${value} is no finite number`);
    }
    return value;
  });
}
