// Preloaded into a Node server that has no option for the address it listens on (`node --import`):
// every listener of the process is bound to 127.0.0.1, and the process ends with its parent.
import net from "node:net";

const HOST = "127.0.0.1";
const { listen } = net.Server.prototype;

net.Server.prototype.listen = function (...args) {
    const callback = args.findLast((arg) => typeof arg === "function");
    const [first] = args;
    if (typeof first === "object" && first !== null) {
        // A file descriptor or a pipe has no address.
        const options = "fd" in first || "path" in first || "_handle" in first ? first : { ...first, host: HOST };
        return listen.call(this, options, callback);
    }
    const port = Number(first ?? 0);
    if (Number.isInteger(port)) {
        return listen.call(this, { port, host: HOST }, callback);
    }
    throw new Error(`loopback.mjs: cannot bind listen(${String(first)}) to ${HOST}`);
};

// Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we.
for (const event of ["end", "close", "error"]) {
    process.stdin.on(event, () => process.exit(0));
}
process.stdin.resume();
