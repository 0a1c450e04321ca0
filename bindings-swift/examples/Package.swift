// swift-tools-version: 6.0
//
// Programs that link the package: a command-line one for every system, and a small app for macOS, which share what is not a user interface;
// the Swift half of the benchmark; and the Swift client of `cargo xtask conformance`.

import PackageDescription

var products: [Product] = [
    .executable(name: "oncewire-twin", targets: ["Twin"]),
    .executable(name: "oncewire-bench", targets: ["Bench"]),
    .executable(name: "oncewire-conformance", targets: ["Conformance"]),
]
var targets: [Target] = [
    .target(name: "Desk", dependencies: [.product(name: "Oncewire", package: "oncewire")]),
    .executableTarget(name: "Conformance", dependencies: [.product(name: "Oncewire", package: "oncewire")]),
    .executableTarget(name: "Bench", dependencies: [.product(name: "Oncewire", package: "oncewire")]),
    .executableTarget(name: "Twin", dependencies: ["Desk", .product(name: "Oncewire", package: "oncewire")]),
]

#if os(macOS)
    products.append(.executable(name: "OncewireApp", targets: ["App"]))
    targets.append(.executableTarget(name: "App", dependencies: ["Desk", .product(name: "Oncewire", package: "oncewire")]))
#endif

let package = Package(
    name: "oncewire-examples",
    platforms: [.macOS(.v13)],
    products: products,
    dependencies: [.package(name: "oncewire", path: "../..")],
    targets: targets,
    swiftLanguageModes: [.v6]
)
