export * from "../dist/transport/index.js";
