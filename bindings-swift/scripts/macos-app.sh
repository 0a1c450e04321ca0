#!/bin/sh
# Makes OncewireApp.app of the example, signs it, and has it notarised. For macOS with Xcode; not run on the project's own machines.
#
#   SIGNING_IDENTITY   name of a "Developer ID Application" certificate in the keychain; without it the app is signed for this machine only
#   NOTARY_PROFILE     name under which `xcrun notarytool store-credentials` keeps the credentials; without it nothing is sent anywhere
set -eu

[ "$(uname -s)" = Darwin ] || { echo "macos-app: this needs macOS and Xcode" >&2; exit 1; }
root=$(cd "$(dirname "$0")/../.." && pwd -P)
folder=$root/target/swift/app
app=$folder/OncewireApp.app
identity=${SIGNING_IDENTITY:--}

cd "$root"
cargo xtask swift
swift build -c release --package-path bindings-swift/examples --scratch-path "$folder/build" --product OncewireApp \
    --arch arm64 --arch x86_64
binary=$(swift build -c release --package-path bindings-swift/examples --scratch-path "$folder/build" --product OncewireApp \
    --arch arm64 --arch x86_64 --show-bin-path)/OncewireApp

rm -rf "$app"
mkdir -p "$app/Contents/MacOS"
cp "$binary" "$app/Contents/MacOS/OncewireApp"
cat >"$app/Contents/Info.plist" <<'PLIST'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <key>CFBundleExecutable</key><string>OncewireApp</string>
    <key>CFBundleIdentifier</key><string>dev.oncewire.example</string>
    <key>CFBundleName</key><string>oncewire</string>
    <key>CFBundlePackageType</key><string>APPL</string>
    <key>CFBundleShortVersionString</key><string>0.1.0</string>
    <key>CFBundleVersion</key><string>1</string>
    <key>LSMinimumSystemVersion</key><string>13.0</string>
    <key>NSHighResolutionCapable</key><true/>
</dict>
</plist>
PLIST

# The hardened runtime is what notarisation asks for. The app is not sandboxed, so it may open connections without an entitlement.
# A timestamp is asked for only with a real certificate.
if [ "$identity" = - ]; then timestamp=--timestamp=none; else timestamp=--timestamp; fi
codesign --force --options runtime "$timestamp" --sign "$identity" "$app"
codesign --verify --strict --verbose=2 "$app"

if [ -n "${NOTARY_PROFILE:-}" ]; then
    ditto -c -k --keepParent "$app" "$folder/OncewireApp.zip"
    xcrun notarytool submit "$folder/OncewireApp.zip" --keychain-profile "$NOTARY_PROFILE" --wait
    xcrun stapler staple "$app"
    spctl --assess --type execute --verbose "$app"
else
    echo "macos-app: not notarised: NOTARY_PROFILE names no credentials"
fi
echo "$app"
