// JSON values and Codable types, both ways.

import Foundation

extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            var members: [String: JSONValue] = [:]
            for key in container.allKeys { members[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
            self = .object(members)
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .int(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(UInt64.self) {
            self = .raw(String(value))
        } else if let value = try? container.decode(Double.self), value.magnitude < 0x1p53 {
            self = .double(value)
        } else {
            // Larger than 64 bits: a Decimal holds 38 digits.
            self = .raw("\(try container.decode(Decimal.self))")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: Name.self)
            for (key, value) in members { try container.encode(value, forKey: Name(stringValue: key)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .bool(let value): try container.encode(value)
            case .int(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .raw(let text): try Self.encode(raw: text, into: &container)
            default: try container.encodeNil()
            }
        }
    }

    private static func encode(raw text: String, into container: inout any SingleValueEncodingContainer) throws {
        if let value = UInt64(text) {
            try container.encode(value)
        } else if let value = Decimal(string: text, locale: nil), text.first != "{", text.first != "[" {
            try container.encode(value)
        } else {
            throw EncodingError.invalidValue(
                text, .init(codingPath: container.codingPath, debugDescription: "nested too deep to be encoded by a Codable encoder"))
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension JSONValue {
    /// The JSON of any `Encodable` value.
    public init(encoding value: some Encodable) throws {
        if let value = value as? JSONValue {
            self = value
        } else {
            self = try JSONValue(jsonText: String(decoding: JSONEncoder().encode(value), as: UTF8.self))
        }
    }

    /// This JSON as any `Decodable` type.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws -> T {
        if let value = self as? T { return value }
        return try JSONDecoder().decode(type, from: Data(jsonText.utf8))
    }
}

/// A type that is JSON with names for its best-known fields: what has no name is kept too.
public protocol JSONBacked: Codable, Sendable, Hashable, CustomStringConvertible {
    /// All of it, unknown fields included.
    var json: JSONValue { get }
    /// From JSON; a field of an unexpected shape is left empty, and can be read from `json`.
    init(json: JSONValue)
}

extension JSONBacked {
    public init(from decoder: any Decoder) throws { self.init(json: try JSONValue(from: decoder)) }
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
    public var description: String { json.description }
}
