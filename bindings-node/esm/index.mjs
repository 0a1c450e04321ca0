// One implementation for both module systems, so that a class is the same class in either.
export {
  AnsweredError,
  Client,
  connect,
  connectStdio,
  EventStream,
  FailureError,
  MayHaveExecutedError,
  NotExecutedError,
  OncewireError,
  RawJson,
  rawJson,
} from "../dist/index.js";
