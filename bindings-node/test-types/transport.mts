/** The transport fits both official packages, as their types have it. */

import type { Transport as Transport2 } from "@modelcontextprotocol/client";
import { OncewireTransport } from "oncewire/transport";

export const two: Transport2 = new OncewireTransport("http://127.0.0.1/mcp");
