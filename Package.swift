// swift-tools-version: 6.0
//
// SwiftPM reads the manifest of a git URL only from the root of the repository; all else of the package is in bindings-swift/.
//
// What the Rust core is linked from:
// - Apple platforms: `target/swift/OncewireFFI.xcframework` if `cargo xtask swift` made one, else the one of the release below.
// - Linux: the static library that cargo built, found through pkg-config: PKG_CONFIG_PATH=target/swift (`cargo xtask swift` writes it).

import Foundation
import PackageDescription

let platforms: [SupportedPlatform] = [.macOS(.v13), .iOS(.v16)]
let apple: [Platform] = [.macOS, .iOS]

#if os(macOS)
    /// Set when a release is made (`cargo xtask swift` prints the checksum).
    let release: (url: String, checksum: String)? = nil
    let local = "target/swift/OncewireFFI.xcframework"
    let ffi: Target =
        if FileManager.default.fileExists(atPath: Context.packageDirectory + "/" + local) {
            .binaryTarget(name: "oncewire_swiftFFI", path: local)
        } else if let release {
            .binaryTarget(name: "oncewire_swiftFFI", url: release.url, checksum: release.checksum)
        } else {
            fatalError("no release is named here and \(local) does not exist: run `cargo xtask swift`")
        }
#else
    let ffi: Target = .systemLibrary(
        name: "oncewire_swiftFFI", path: "bindings-swift/Sources/oncewire_swiftFFI", pkgConfig: "oncewire_swift")
#endif

let package = Package(
    name: "oncewire",
    platforms: platforms,
    products: [.library(name: "Oncewire", targets: ["Oncewire"])],
    targets: [
        ffi,
        .target(
            name: "OncewireNative", dependencies: ["oncewire_swiftFFI"], path: "bindings-swift/Sources/OncewireNative",
            linkerSettings: [
                // What the core takes from the system there: certificates, proxy settings. A static library does not say so itself.
                .linkedFramework("CoreFoundation", .when(platforms: apple)),
                .linkedFramework("Security", .when(platforms: apple)),
                .linkedFramework("SystemConfiguration", .when(platforms: apple)),
            ]),
        .target(name: "Oncewire", dependencies: ["OncewireNative"], path: "bindings-swift/Sources/Oncewire"),
        .testTarget(name: "OncewireTests", dependencies: ["Oncewire"], path: "bindings-swift/Tests/OncewireTests"),
    ],
    swiftLanguageModes: [.v6]
)
