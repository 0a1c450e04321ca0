// JSON values: literals, subscripts, text both ways, Codable types both ways.

import Foundation
import Oncewire
import Testing

@Suite struct JSONTests {
    @Test func literalsAndSubscripts() {
        let value: JSONValue = ["to": "a", "count": 3, "ratio": 0.5, "urgent": true, "none": nil, "list": [1, "two", ["three": 3]]]
        #expect(value["to"]?.stringValue == "a")
        #expect(value["count"]?.intValue == 3)
        #expect(value["ratio"]?.doubleValue == 0.5)
        #expect(value["urgent"]?.boolValue == true)
        #expect(value["none"]?.isNull == true)
        #expect(value["list"]?[2]?["three"] == 3)
        #expect(value["list"]?[3] == nil)
        #expect(value["absent"] == nil)
        #expect(value["to"]?["deeper"] == nil)
    }

    @Test(arguments: [
        "0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
        "123456789012345678901234567890", "-0", "1.5", "0.1", "1e400", "1e-400", "0.10000000000000000555", "1.0000000000000000001",
        "12345678901234567.25", "0.30000000000000004",
    ])
    func aNumberKeepsItsDigits(_ text: String) throws {
        let value = try JSONValue(jsonText: text)
        #expect(value.jsonText == text)
        #expect(try JSONValue(jsonText: "{\"n\":[\(text)]}").jsonText == "{\"n\":[\(text)]}")
    }

    @Test(arguments: [
        (#""""#, ""), (#""a\"b\\c\/d""#, "a\"b\\c/d"), (#""\b\f\n\r\t""#, "\u{8}\u{c}\n\r\t"), (#""é 日本 🙂""#, "é 日本 🙂"),
        (#""\ud83d\ude42""#, "🙂"), (#""\ud83d x""#, "\u{FFFD} x"), (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\u0000""#, "\u{0}"),
    ])
    func stringsAreReadAndWritten(_ text: String, _ string: String) throws {
        let value = try JSONValue(jsonText: text)
        #expect(value == .string(string))
        #expect(try JSONValue(jsonText: value.jsonText) == value)
    }

    @Test(arguments: [
        "", " ", "{", "[", "[1,]", "{\"a\":}", "{\"a\" 1}", "{a:1}", "01", "1.", ".5", "-", "+1", "1e", "nul", "tru", "\"", "\"\\x\"", "\"\\u12\"",
        "\"a\nb\"", "1 2", "[1]]", "'a'",
    ])
    func whatIsNotJSONIsAnError(_ text: String) {
        #expect(throws: JSONValue.SyntaxError.self) { try JSONValue(jsonText: text) }
    }

    @Test func deepNestingIsKeptAsText() throws {
        let depth = 100_000
        let text = String(repeating: "[", count: depth) + "\"]\"" + String(repeating: "]", count: depth)
        let value = try JSONValue(jsonText: text)
        #expect(value.jsonText == text)
    }

    @Test func agreesWithFoundation() throws {
        let text = #"{"a":[1,2.5,true,false,null,"x\ny",{"b":{}},[]],"é":"ü","n":-12}"#
        let ours = try JSONValue(jsonText: text)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == ours)
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(ours)) == ours)
    }

    @Test func integersPastSixtyFourBitsPassThroughCodable() throws {
        let value: JSONValue = ["u": .raw("18446744073709551615"), "n": .raw("12345678901234567890123456789")]
        let data = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: data) == value)
    }

    struct Draft: Codable, Equatable {
        var to: String
        var copies: UInt64
        var tags: [String: Int]
        var extra: JSONValue
    }

    @Test func anyCodableTypeBothWays() throws {
        let draft = Draft(to: "a", copies: .max, tags: ["x": 1], extra: ["k": [1, nil]])
        let value = try JSONValue(encoding: draft)
        #expect(value["to"] == "a")
        #expect(value["copies"] == .raw("18446744073709551615"))
        #expect(try value.decode(Draft.self) == draft)
        #expect(throws: DecodingError.self) { try value.decode([Draft].self) }
    }
}
