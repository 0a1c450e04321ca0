// A JSON value that keeps every digit: arguments, results, and whatever a server sends that has no type of its own.

/// Any JSON value.
///
/// It can be written as a literal (`["to": "a", "count": 3]`), read by subscripts (`value["content"]?[0]?["text"]?.stringValue`), and
/// turned into and from any `Codable` type. Integers stay exact, whatever their size.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A whole number that fits into an `Int`.
    case int(Int)
    /// A number with a fraction or an exponent that a `Double` holds as it was written.
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
    /// JSON text, kept as it is: a number that neither `Int` nor `Double` holds exactly, or what is nested deeper than 128 levels.
    case raw(String)
}

// MARK: - Reading

extension JSONValue {
    /// The member of an object.
    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The element of an array; nil past its end.
    public subscript(index: Int) -> JSONValue? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    public var isNull: Bool { self == .null }

    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The whole number, if it fits into an `Int`.
    public var intValue: Int? {
        if case .int(let value) = self { value } else { nil }
    }

    /// The number, as near as a `Double` comes to it.
    public var doubleValue: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        case .raw(let text): Double(text)
        default: nil
        }
    }

    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    public var arrayValue: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    public var objectValue: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }
}

// MARK: - Literals

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Of a repeated key the last value counts.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(Dictionary(members, uniquingKeysWith: { _, last in last }))
    }
}

extension JSONValue: CustomStringConvertible {
    /// The JSON text.
    public var description: String { jsonText }
}
