// What the methods give: the fields that most callers read, over the whole result as the server sent it.

/// The result of `tools/call`. A tool that failed says so in `isError`: that is an answer, not an error of the call.
public struct CallToolResult: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// Content blocks, each as the server sent it.
    public var content: [JSONValue] { json["content"]?.arrayValue ?? [] }
    /// The structured result; `structuredContent?.decode()` makes any `Decodable` type of it.
    public var structuredContent: JSONValue? { json["structuredContent"].present }
    /// The tool says that it failed.
    public var isError: Bool { json["isError"]?.boolValue ?? false }
    /// `complete`, or `task` where the server goes on with the call in a task, or what an extension that you declared has of its own.
    public var resultType: String { json["resultType"]?.stringValue ?? "complete" }
    /// The task that the server goes on with, as it sent it: the call is not over, and `content` is empty. Only of servers to which you
    /// declared tasks in `extensions`.
    public var task: JSONValue? {
        // The extension puts the members of the task beside the type, its forerunner into a member of their own.
        if let task = json["task"].present { return task }
        return resultType == "task" ? .some(json) : .none
    }
    /// `_meta`
    public var meta: JSONValue? { json["_meta"].present }
    /// The text of all text blocks, one to a line.
    public var text: String {
        content.filter { $0["type"] == "text" }.compactMap { $0["text"]?.stringValue }.joined(separator: "\n")
    }
}

/// The result of `resources/read`.
public struct ReadResourceResult: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// Text or blob contents, each as the server sent it.
    public var contents: [JSONValue] { json["contents"]?.arrayValue ?? [] }
    /// `_meta`
    public var meta: JSONValue? { json["_meta"].present }
}

/// The result of `prompts/get`.
public struct GetPromptResult: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// What the prompt is for.
    public var promptDescription: String? { json["description"]?.stringValue }
    /// The messages, each as the server sent it.
    public var messages: [JSONValue] { json["messages"]?.arrayValue ?? [] }
    /// `_meta`
    public var meta: JSONValue? { json["_meta"].present }
}

/// The result of `completion/complete`.
public struct CompleteResult: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The completions.
    public var values: [String] { json["completion"]?["values"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    /// How many there are in all.
    public var total: Int? { json["completion"]?["total"]?.intValue }
    /// There are more than those.
    public var hasMore: Bool { json["completion"]?["hasMore"]?.boolValue ?? false }
    /// `_meta`
    public var meta: JSONValue? { json["_meta"].present }
}

/// What a server says of itself: the answer to `initialize`, or in the modern era to `server/discover`.
public struct InitializeResult: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The version that both sides speak.
    public var protocolVersion: String { json["protocolVersion"]?.stringValue ?? "" }
    /// What the server offers.
    public var capabilities: JSONValue { json["capabilities"] ?? .null }
    /// Name, version, … of the server.
    public var serverInfo: JSONValue { json["serverInfo"] ?? .null }
    /// How the server wants to be used.
    public var instructions: String? { json["instructions"]?.stringValue }
}

/// A list: all pages of it, or the one page that was asked for.
public protocol ListResult: JSONBacked {
    associatedtype Item: JSONBacked
    /// The member of the result that holds the items.
    static var member: String { get }
}

extension ListResult {
    /// The items, in the server's order.
    public var items: [Item] { json[Self.member]?.arrayValue?.map(Item.init(json:)) ?? [] }
    /// Where the next page begins. After all pages were asked for, only there if a bound was hit.
    public var nextCursor: String? { json["nextCursor"]?.stringValue }
    /// `_meta` of the last page.
    public var meta: JSONValue? { json["_meta"].present }
}

/// The result of `tools/list`.
public struct ListToolsResult: ListResult {
    public typealias Item = Tool
    public static let member = "tools"
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }
    public var tools: [Tool] { items }
}

/// The result of `resources/list`.
public struct ListResourcesResult: ListResult {
    public typealias Item = Resource
    public static let member = "resources"
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }
    public var resources: [Resource] { items }
}

/// The result of `resources/templates/list`.
public struct ListResourceTemplatesResult: ListResult {
    public typealias Item = ResourceTemplate
    public static let member = "resourceTemplates"
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }
    public var resourceTemplates: [ResourceTemplate] { items }
}

/// The result of `prompts/list`.
public struct ListPromptsResult: ListResult {
    public typealias Item = Prompt
    public static let member = "prompts"
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }
    public var prompts: [Prompt] { items }
}

/// One tool.
public struct Tool: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The name to call it by.
    public var name: String { json["name"]?.stringValue ?? "" }
    /// A name for people.
    public var title: String? { json["title"]?.stringValue }
    /// What it does.
    public var toolDescription: String? { json["description"]?.stringValue }
    /// The JSON schema of its arguments.
    public var inputSchema: JSONValue? { json["inputSchema"].present }
    /// The JSON schema of its structured result.
    public var outputSchema: JSONValue? { json["outputSchema"].present }
    /// What the server says of its effects.
    public var annotations: ToolAnnotations { ToolAnnotations(json: json["annotations"] ?? .null) }
}

/// What a server says of a tool's effects. What is not said is nil.
public struct ToolAnnotations: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// A name for people.
    public var title: String? { json["title"]?.stringValue }
    /// The tool changes nothing.
    public var readOnlyHint: Bool? { json["readOnlyHint"]?.boolValue }
    /// The tool may destroy.
    public var destructiveHint: Bool? { json["destructiveHint"]?.boolValue }
    /// Calling it again with the same arguments has no further effect.
    public var idempotentHint: Bool? { json["idempotentHint"]?.boolValue }
    /// The tool reaches beyond the server.
    public var openWorldHint: Bool? { json["openWorldHint"]?.boolValue }
}

/// One resource.
public struct Resource: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The URI to read it by.
    public var uri: String { json["uri"]?.stringValue ?? "" }
    /// Its name.
    public var name: String { json["name"]?.stringValue ?? "" }
    /// A name for people.
    public var title: String? { json["title"]?.stringValue }
    /// What it is.
    public var resourceDescription: String? { json["description"]?.stringValue }
    /// Its media type.
    public var mimeType: String? { json["mimeType"]?.stringValue }
}

/// One template of resources.
public struct ResourceTemplate: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The URI template (RFC 6570).
    public var uriTemplate: String { json["uriTemplate"]?.stringValue ?? "" }
    /// Its name.
    public var name: String { json["name"]?.stringValue ?? "" }
    /// A name for people.
    public var title: String? { json["title"]?.stringValue }
    /// What it is.
    public var resourceDescription: String? { json["description"]?.stringValue }
    /// The media type of what it names.
    public var mimeType: String? { json["mimeType"]?.stringValue }
}

/// One prompt.
public struct Prompt: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The name to get it by.
    public var name: String { json["name"]?.stringValue ?? "" }
    /// A name for people.
    public var title: String? { json["title"]?.stringValue }
    /// What it is for.
    public var promptDescription: String? { json["description"]?.stringValue }
    /// Its arguments.
    public var arguments: [PromptArgument] { json["arguments"]?.arrayValue?.map(PromptArgument.init(json:)) ?? [] }
}

/// One argument of a prompt.
public struct PromptArgument: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// Its name.
    public var name: String { json["name"]?.stringValue ?? "" }
    /// What it is.
    public var argumentDescription: String? { json["description"]?.stringValue }
    /// Must it be given?
    public var required: Bool { json["required"]?.boolValue ?? false }
}

extension JSONValue? {
    /// JSON's null is nothing.
    var present: JSONValue? { self == .some(.null) ? nil : self }
}
