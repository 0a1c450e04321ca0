/** What a message of the addon is about: the numbers of `Kind` in `src/mailbox.rs`. */
export const MessageKind = {
  result: 0,
  failure: 1,
  progress: 2,
  event: 3,
  notification: 4,
  withdrawn: 5,
  token: 6,
  headers: 7,
  sampling: 8,
  elicitation: 9,
  roots: 10,
  panic: 11,
  oauth: 12,
} as const;
