use std::time::Duration;

use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::{Value, json};
use test_case::test_case;
use url::Url;

use super::*;

// Made for these tests, with openssl.
const P256: &str = include_str!("keys/p256.pem");
const RSA: &str = include_str!("keys/rsa.pem");
const RSA_PKCS1: &str = include_str!("keys/rsa_pkcs1.pem");

const NOW: u64 = 1_800_000_000;

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(NOW * 1_000 + 999)
}

fn bytes(text: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap()
}

/// Header and claims, once the signature is found to be one of the key that this JWK is of.
fn verified(jwt: &str, jwk: &Value) -> (Value, Value) {
    let (message, signature) = jwt.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    match jwk["kty"].as_str().unwrap() {
        "EC" => {
            let point = [vec![4], bytes(&jwk["x"]), bytes(&jwk["y"])].concat();
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message.as_bytes(), &signature).unwrap();
        }
        "RSA" => RsaPublicKeyComponents { n: bytes(&jwk["n"]), e: bytes(&jwk["e"]) }
            .verify(&RSA_PKCS1_2048_8192_SHA256, message.as_bytes(), &signature)
            .unwrap(),
        other => panic!("a key of {other}"),
    }
    let (header, claims) = message.split_once('.').unwrap();
    let json = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    (json(header), json(claims))
}

fn public(key: &SigningKey) -> Value {
    serde_json::to_value(key.jwk()).unwrap()
}

#[test_case(P256, "ES256"; "P-256")]
#[test_case(RSA, "RS256"; "RSA")]
#[test_case(RSA_PKCS1, "RS256"; "RSA in PKCS 1")]
fn an_assertion_says_who_the_client_is(pem: &str, algorithm: &str) {
    let key = SigningKey::from_pem(pem.as_bytes()).unwrap();
    let assertion = ClientAssertion { client_id: "me", audience: "https://as.example", key_id: Some("k1") };
    let (header, mut claims) = verified(&assertion.sign(&key, now()).unwrap(), &public(&key));
    assert_eq!(header, json!({"alg": algorithm, "typ": "JWT", "kid": "k1"}));
    // RFC 7523, section 2.2.
    assert_eq!(ASSERTION_TYPE, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let jti = claims.as_object_mut().unwrap().remove("jti").unwrap();
    assert_eq!(jti.as_str().unwrap().len(), 43);
    let aud = "https://as.example";
    assert_eq!(claims, json!({"iss": "me", "sub": "me", "aud": aud, "iat": NOW, "exp": NOW + 300}));
}

#[test]
fn each_assertion_is_another() {
    let key = SigningKey::generate().unwrap();
    let assertion = ClientAssertion { client_id: "me", audience: "https://as.example", key_id: None };
    let jti = || {
        let (header, claims) = verified(&assertion.sign(&key, now()).unwrap(), &public(&key));
        assert_eq!(header.get("kid"), None);
        claims["jti"].clone()
    };
    assert_ne!(jti(), jti());
}

// RFC 9449, section 4.2.
#[test]
fn a_proof_for_the_token_endpoint() {
    let key = SigningKey::generate().unwrap();
    let url = Url::parse("https://as.example/token?tenant=1").unwrap();
    let proof = DpopProof { method: "POST", url: &url, access_token: None, nonce: None };
    let (header, mut claims) = verified(&proof.sign(&key, now()).unwrap(), &public(&key));
    assert_eq!(header, json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": public(&key)}));
    claims.as_object_mut().unwrap().remove("jti").unwrap();
    assert_eq!(claims, json!({"htm": "POST", "htu": "https://as.example/token", "iat": NOW}));
}

#[test]
fn a_proof_for_a_resource_names_the_token_and_the_nonce() {
    let key = SigningKey::from_pem(P256.as_bytes()).unwrap();
    let url = Url::parse("https://mcp.example/mcp").unwrap();
    let proof = DpopProof {
        method: "POST",
        url: &url,
        access_token: Some("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"),
        nonce: Some("eyJ7S_zG.eyJH0-Z.HX4w-7v"),
    };
    let claims = || verified(&proof.sign(&key, now()).unwrap(), &public(&key)).1;
    assert_eq!(claims()["ath"], "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
    assert_eq!(claims()["nonce"], "eyJ7S_zG.eyJH0-Z.HX4w-7v");
    assert_ne!(claims()["jti"], claims()["jti"]);
}

#[test]
fn a_key_that_was_stored_is_the_same_key() {
    let key = SigningKey::generate().unwrap();
    let again = SigningKey::from_pkcs8(key.pkcs8().unwrap()).unwrap();
    assert_eq!(again.jwk().thumbprint(), key.jwk().thumbprint());
    assert_ne!(SigningKey::generate().unwrap().jwk().thumbprint(), key.jwk().thumbprint());
}

#[test_case("", "there is no PEM private key in it"; "nothing")]
#[test_case("-----BEGIN PRIVATE KEY-----\n!!secret!!\n-----END PRIVATE KEY-----\n", "it is not valid PEM"; "no base64")]
#[test_case("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", "P-256"; "no key")]
#[test_case(include_str!("keys/p256_sec1.pem"), "PKCS #8 is wanted"; "SEC 1")]
#[test_case(include_str!("keys/p384.pem"), "P-256 (ES256)"; "another curve")]
fn a_key_that_is_unfit(pem: &str, says: &str) {
    let error = SigningKey::from_pem(pem.as_bytes()).unwrap_err();
    assert!(matches!(error, KeyError::Unfit(_)), "{error:?}");
    assert!(error.to_string().contains(says), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn its_debug_text_shows_no_key() {
    let key = SigningKey::from_pem(P256.as_bytes()).unwrap();
    assert_eq!(format!("{key:?}"), "SigningKey { algorithm: \"ES256\", .. }");
}
