// JSON text to values and back. Not Foundation's: its numbers go through types that round, and a result is on the path of every call.

extension JSONValue {
    /// What was wrong with a JSON text, and where.
    public struct SyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The byte at which it was found, from 0.
        public let offset: Int
        public var description: String { "not JSON at byte \(offset)" }
    }

    /// From JSON text.
    public init(jsonText: String) throws {
        var text = jsonText
        self = try text.withUTF8 { bytes in
            var parser = JSONParser(bytes: bytes)
            return try parser.document()
        }
    }

    /// As JSON text, the members of objects sorted by name.
    public var jsonText: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .int(let value): bytes += String(value).utf8
        // What is not finite is no JSON; the core says so, and sends nothing.
        case .double(let value): bytes += value.description.utf8
        case .raw(let text): bytes += text.utf8
        case .string(let value): Self.write(value, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, key) in members.keys.sorted().enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                members[key]?.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes += "\\u00".utf8
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

/// Reads JSON as RFC 8259 has it.
private struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    var at = 0

    /// As deep as the core reads. A server must not be able to run us out of stack.
    static let maxDepth = 128

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var error: JSONValue.SyntaxError { .init(offset: at) }

    var byte: UInt8? { at < bytes.count ? bytes[at] : nil }

    mutating func document() throws -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard at == bytes.count else { throw error }
        return value
    }

    mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
    }

    mutating func value(depth: Int) throws -> JSONValue {
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): return depth < Self.maxDepth ? try object(depth: depth + 1) : try rawContainer()
        case UInt8(ascii: "["): return depth < Self.maxDepth ? try array(depth: depth + 1) : try rawContainer()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    mutating func word(_ word: StaticString, _ value: JSONValue) throws -> JSONValue {
        let length = word.utf8CodeUnitCount
        guard at + length <= bytes.count else { throw error }
        for index in 0..<length where bytes[at + index] != word.utf8Start[index] { throw error }
        at += length
        return value
    }

    mutating func object(depth: Int) throws -> JSONValue {
        at += 1
        var members: [String: JSONValue] = [:]
        skipSpace()
        if byte == UInt8(ascii: "}") {
            at += 1
            return .object(members)
        }
        while true {
            skipSpace()
            guard byte == UInt8(ascii: "\"") else { throw error }
            let key = try string()
            skipSpace()
            guard byte == UInt8(ascii: ":") else { throw error }
            at += 1
            members[key] = try value(depth: depth)
            skipSpace()
            switch byte {
            case UInt8(ascii: ","): at += 1
            case UInt8(ascii: "}"):
                at += 1
                return .object(members)
            default: throw error
            }
        }
    }

    mutating func array(depth: Int) throws -> JSONValue {
        at += 1
        var elements: [JSONValue] = []
        skipSpace()
        if byte == UInt8(ascii: "]") {
            at += 1
            return .array(elements)
        }
        while true {
            elements.append(try value(depth: depth))
            skipSpace()
            switch byte {
            case UInt8(ascii: ","): at += 1
            case UInt8(ascii: "]"):
                at += 1
                return .array(elements)
            default: throw error
            }
        }
    }

    /// The text of a container, without a call for each level of it.
    mutating func rawContainer() throws -> JSONValue {
        let start = at
        var open = 0
        repeat {
            switch byte {
            case nil: throw error
            case UInt8(ascii: "{"), UInt8(ascii: "["): open += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): open -= 1
            case UInt8(ascii: "\""):
                _ = try string()
                continue
            default: break
            }
            at += 1
        } while open > 0
        return .raw(text(from: start))
    }

    func text(from start: Int) -> String { String(decoding: bytes[start..<at], as: UTF8.self) }

    mutating func string() throws -> String {
        at += 1
        let start = at
        // Most strings have no escape: one copy of what is there.
        while let byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { at += 1 }
        if byte == UInt8(ascii: "\"") {
            let string = text(from: start)
            at += 1
            return string
        }
        var unescaped = Array(bytes[start..<at])
        while let byte {
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &unescaped)
            case 0..<0x20: throw error
            default: unescaped.append(byte)
            }
        }
        throw error
    }

    mutating func escape(into unescaped: inout [UInt8]) throws {
        guard let byte else { throw error }
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"):
            var code = UInt32(try unit())
            if 0xD800..<0xDC00 ~= code, at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u") {
                let before = at
                at += 2
                let low = UInt32(try unit())
                if 0xDC00..<0xE000 ~= low {
                    code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
                } else {
                    at = before
                }
            }
            // Half a pair is no character; RFC 8259 section 8.2 leaves it to the reader.
            unescaped += String(Unicode.Scalar(code) ?? "\u{FFFD}").utf8
        default: throw error
        }
    }

    mutating func unit() throws -> UInt16 {
        guard at + 4 <= bytes.count else { throw error }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch bytes[at] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = bytes[at] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = bytes[at] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = bytes[at] - UInt8(ascii: "A") + 10
            default: throw error
            }
            unit = unit << 4 | UInt16(digit)
            at += 1
        }
        return unit
    }

    mutating func digits() throws -> Int {
        let start = at
        while let byte, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { at += 1 }
        guard at > start else { throw error }
        return at - start
    }

    mutating func number() throws -> JSONValue {
        let start = at
        if byte == UInt8(ascii: "-") { at += 1 }
        let first = byte
        let whole = try digits()
        if whole > 1, first == UInt8(ascii: "0") { throw error }
        var significant = whole
        var isWhole = true
        if byte == UInt8(ascii: ".") {
            isWhole = false
            at += 1
            significant += try digits()
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            isWhole = false
            at += 1
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { at += 1 }
            _ = try digits()
        }
        let text = text(from: start)
        if isWhole {
            // "-0" is a number of its own, and no Int.
            return Int(text).flatMap { $0 == 0 && text != "0" ? nil : .int($0) } ?? .raw(text)
        }
        guard let value = Double(text), value.isNormal || value.isZero else { return .raw(text) }
        // A Double holds 15 significant digits, whichever they are; with more it depends.
        if value.isZero { return text.contains(where: { "123456789".contains($0) }) ? .raw(text) : .double(value) }
        return significant <= 15 || value.description == text ? .double(value) : .raw(text)
    }
}
