export { OncewireTransport } from "../dist/transport/index.js";
