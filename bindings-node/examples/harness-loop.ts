/**
 * An agent loop that never runs a tool twice by accident.
 *
 * The class of an error says what to do next, and the loop does just that: what was not executed is called again; what may have executed
 * is verified first, and the model is told what is known; what the server answered goes to the model as it is.
 */

import { AnsweredError, type Client, MayHaveExecutedError, NotExecutedError } from "oncewire";

/** What the model wants next: a tool, or to say something and stop. */
export type Turn = { tool: string; arguments: Record<string, unknown>; id: string } | { say: string };

/** A model: it sees what happened so far, and takes a turn. */
export type Model = (transcript: readonly string[]) => Turn | Promise<Turn>;

/** Finds out whether a call had its effect, by a tool that only reads. */
export type Verify = (client: Client, turn: { tool: string; id: string }) => Promise<boolean>;

/** Runs the loop until the model has said something; gives the transcript. */
export async function harness(client: Client, model: Model, verify: Verify, maxTurns = 20): Promise<string[]> {
  const transcript: string[] = [];
  for (let turns = 0; turns < maxTurns; turns += 1) {
    const turn = await model(transcript);
    if ("say" in turn) {
      transcript.push(turn.say);
      return transcript;
    }
    transcript.push(await act(client, turn, verify));
  }
  throw new Error(`no end after ${maxTurns} turns`);
}

async function act(client: Client, turn: Exclude<Turn, { say: string }>, verify: Verify): Promise<string> {
  const { tool, id } = turn;
  for (let tries = 1; ; tries += 1) {
    try {
      // The id of the tool use is the key under which the server sees every attempt.
      const result = await client.callTool(
        { name: tool, arguments: turn.arguments },
        { idempotencyKey: id, timeout: 30_000 },
      );
      return `${tool}: ${result.isError ? "failed: " : ""}${JSON.stringify(result.content)}`;
    } catch (error) {
      if (error instanceof NotExecutedError && tries < 3) {
        continue;
      }
      if (error instanceof MayHaveExecutedError) {
        // Never simply again: look first.
        const seen = await verify(client, turn).catch(() => undefined);
        if (seen === undefined) {
          return `${tool}: not known; the call was lost (${error.kind}), and the server could not be asked what it did`;
        }
        if (seen) {
          return `${tool}: done; the answer was lost (${error.kind}), and a look at the server shows the effect`;
        }
        return `${tool}: no effect yet; the call was lost (${error.kind}), and it may still be running: look again before you repeat it`;
      }
      if (error instanceof AnsweredError || error instanceof NotExecutedError) {
        return `${tool}: ${error.message}`;
      }
      throw error;
    }
  }
}
