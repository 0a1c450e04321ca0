//! Writes the Swift sources, the header and the module map of `oncewire-swift` from its static library. A crate of its own, so that the
//! generator and what it needs are not built into the library.

fn main() {
    uniffi::uniffi_bindgen_swift();
}
