// The window.

import Desk
import Oncewire
import SwiftUI

struct ContentView: View {
    @ObservedObject var model: Model

    var body: some View {
        VStack(alignment: .leading, spacing: 12) {
            HStack {
                TextField("URL", text: $model.url).onSubmit { connect() }
                Button("Connect") { connect() }
                Text(model.state).foregroundStyle(.secondary)
            }
            HStack {
                Picker("Tool", selection: $model.tool) {
                    ForEach(model.tools, id: \.name) { tool in Text(tool.title ?? tool.name).tag(tool.name) }
                }
                TextField("Arguments", text: $model.arguments).font(.body.monospaced())
                if model.calling == nil {
                    Button("Call") { model.call() }.disabled(model.tool.isEmpty)
                } else {
                    Button("Cancel", role: .cancel) { model.cancel() }
                }
            }
            if model.calling != nil { ProgressView(value: model.progress) }
            if let outcome = model.outcome {
                GroupBox(outcome.next.rawValue) {
                    ScrollView { Text(outcome.text).textSelection(.enabled).frame(maxWidth: .infinity, alignment: .leading) }
                }
                .foregroundStyle(outcome.next == .verifyFirst ? .orange : .primary)
            }
            List(Array(model.events.enumerated().reversed()), id: \.offset) { _, event in
                Text("\(event.at.formatted(date: .omitted, time: .standard)) \(event.description)").font(.caption.monospaced())
            }
        }
        .padding()
    }

    private func connect() { Task { await model.connect() } }
}
