// The smallest HTTP client that talks to the control port: one request, one connection, nothing kept. Not Foundation's, which keeps threads
// and sockets of its own that the leak tests would count.

import Foundation
import Oncewire

#if canImport(Glibc)
    import Glibc
    private let stream = Int32(SOCK_STREAM.rawValue)
#else
    import Darwin
    private let stream = SOCK_STREAM
#endif

struct Trouble: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Sends one request to a port of this machine; the answer must be 200.
func http(_ method: String, _ path: String, port: UInt16, body: String = "") throws -> JSONValue {
    let socket = socket(AF_INET, stream, 0)
    guard socket >= 0 else { throw Trouble("no socket: errno \(errno)") }
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard connected == 0 else { throw Trouble("cannot connect to the control port: errno \(errno)") }
    let head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    var toSend = Array((head + body).utf8)[...]
    while !toSend.isEmpty {
        let sent = toSend.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) }
        guard sent > 0 else { throw Trouble("cannot send: errno \(errno)") }
        toSend = toSend.dropFirst(sent)
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = recv(socket, &buffer, buffer.count, 0)
        guard count >= 0 else { throw Trouble("cannot receive: errno \(errno)") }
        if count == 0 { break }
        answer += buffer[..<count]
    }
    let text = String(decoding: answer, as: UTF8.self)
    guard let gap = text.range(of: "\r\n\r\n") else { throw Trouble("no answer from the control port") }
    let json = try JSONValue(jsonText: String(text[gap.upperBound...]))
    guard text.hasPrefix("HTTP/1.1 200") else { throw Trouble("\(method) \(path): \(json["error"]?.stringValue ?? text)") }
    return json
}

/// Runs something that blocks on a thread of its own: the pool of Swift's tasks has few.
func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
