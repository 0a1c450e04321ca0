// The command that starts a server on stdio, on its way to the core.

/// The command that starts a server on stdio. No shell reads it.
public struct ServerCommand: Sendable, Hashable {
    /// Which variables of this process a server gets.
    public enum Inherit: Sendable, Hashable {
        /// A short list.
        case listed
        /// All.
        case all
        /// These alone.
        case only([String])
    }

    /// The program: its path, or its name if it stands in a folder of `PATH`.
    public var command: String
    /// Its arguments. Every user of the machine can see them: keys belong into `env`.
    public var args: [String]
    /// Variables that are set for it. Their values are cut out of every text of the client's, but for those below eight bytes.
    public var env: [String: String]
    /// The folder that it is started in; nil is that of this process.
    public var folder: String?
    /// Which variables of this process it gets.
    public var inherit: Inherit

    public init(
        _ command: String, args: [String] = [], env: [String: String] = [:], folder: String? = nil, inherit: Inherit = .listed
    ) {
        self.command = command
        self.args = args
        self.env = env
        self.folder = folder
        self.inherit = inherit
    }

    /// As the core reads it.
    var described: JSONValue {
        var members: [String: JSONValue] = [
            "command": .string(command), "args": .array(args.map(JSONValue.string)), "env": .object(env.mapValues(JSONValue.string)),
        ]
        if let folder { members["folder"] = .string(folder) }
        switch inherit {
        case .listed: break
        case .all: members["inherit"] = .string("all")
        case .only(let names): members["inherit"] = .array(names.map(JSONValue.string))
        }
        return .object(members)
    }
}
