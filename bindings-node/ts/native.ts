/** The addon. It is private: its shape follows the Rust crate and may change with every version. */

import native from "../native.js";

export type { Message, NativeClient as Native } from "../native.js";

export const { NativeClient } = native;
