// A small app: connect, pick a tool, call it, cancel it, see what happens inside. Log lines are in the Console under `dev.oncewire`.

import SwiftUI

@main
struct OncewireApp: App {
    @StateObject private var model = Model()

    var body: some Scene {
        WindowGroup("oncewire") {
            ContentView(model: model).frame(minWidth: 720, minHeight: 480)
        }
    }
}
