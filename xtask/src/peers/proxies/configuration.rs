//! What each proxy is told: TLS with HTTP/2 on one port and plain HTTP/1.1 on another, connections to the backend that are kept, idle clients
//! cut after [`IDLE`], and nothing else that is not its default.

use std::path::Path;

use super::{Proxy, Repeating};

/// How long a client may be idle, in seconds.
pub(crate) const IDLE: u64 = 1;

/// The ports of one proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) plain: u16,
    pub(crate) tls: u16,
    pub(crate) backend: u16,
}

/// The whole text.
pub(crate) fn of(proxy: Proxy, ports: Ports, folder: &Path, repeating: Option<Repeating>) -> String {
    let extra = repeating.map(Repeating::settings).unwrap_or_default();
    let template = match proxy {
        Proxy::Haproxy | Proxy::Haproxy3 => HAPROXY,
        Proxy::Nginx => NGINX,
        Proxy::Apache => APACHE,
        Proxy::H2o => H2O,
        Proxy::Caddy => CADDY,
    };
    let words = [
        ("@PLAIN@", ports.plain.to_string()),
        ("@TLS@", ports.tls.to_string()),
        ("@BACKEND@", ports.backend.to_string()),
        ("@IDLE@", IDLE.to_string()),
        ("@FOLDER@", folder.display().to_string()),
        ("@EXTRA@", extra.join("\n    ")),
        // A proxy that tries another server needs another; it is the same one.
        (
            "@AGAIN@",
            if extra.is_empty() { String::new() } else { format!("server 127.0.0.1:{} max_fails=0;", ports.backend) },
        ),
    ];
    words.iter().fold(template.to_owned(), |text, (word, value)| text.replace(word, value))
}

const HAPROXY: &str = "\
defaults
    mode http
    timeout connect 5s
    timeout client @IDLE@s
    timeout server 10s
    timeout http-keep-alive @IDLE@s
    timeout http-request 10s
    http-reuse always
    @EXTRA@
listen front
    bind 127.0.0.1:@PLAIN@
    bind 127.0.0.1:@TLS@ ssl crt @FOLDER@/both.pem alpn h2
    server backend 127.0.0.1:@BACKEND@
";

const NGINX: &str = "\
daemon off;
master_process off;
pid @FOLDER@/pid;
error_log @FOLDER@/error.log;
events {}
http {
    access_log off;
    client_body_temp_path @FOLDER@/body;
    proxy_temp_path @FOLDER@/proxy;
    fastcgi_temp_path @FOLDER@/fastcgi;
    uwsgi_temp_path @FOLDER@/uwsgi;
    scgi_temp_path @FOLDER@/scgi;
    keepalive_timeout @IDLE@s;
    upstream backend {
        server 127.0.0.1:@BACKEND@ max_fails=0;
        @AGAIN@
        keepalive 8;
    }
    server {
        listen 127.0.0.1:@PLAIN@;
        listen 127.0.0.1:@TLS@ ssl http2;
        ssl_certificate @FOLDER@/certificate.pem;
        ssl_certificate_key @FOLDER@/key.pem;
        location / {
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_buffering off;
            @EXTRA@
        }
    }
}
";

const APACHE: &str = "\
ServerRoot @FOLDER@
DefaultRuntimeDir @FOLDER@
PidFile @FOLDER@/pid
ServerName localhost
ErrorLog @FOLDER@/error.log
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
Listen 127.0.0.1:@PLAIN@
Listen 127.0.0.1:@TLS@
KeepAliveTimeout @IDLE@
ProxyPass / http://127.0.0.1:@BACKEND@/ flushpackets=on
<VirtualHost 127.0.0.1:@TLS@>
    ServerName localhost
    Protocols h2
    SSLEngine on
    SSLCertificateFile @FOLDER@/certificate.pem
    SSLCertificateKeyFile @FOLDER@/key.pem
    ProxyPass / http://127.0.0.1:@BACKEND@/ flushpackets=on
</VirtualHost>
";

const H2O: &str = "\
user: root
num-threads: 1
http2-idle-timeout: @IDLE@
http1-request-timeout: @IDLE@
listen:
  host: 127.0.0.1
  port: @PLAIN@
listen:
  host: 127.0.0.1
  port: @TLS@
  ssl:
    certificate-file: @FOLDER@/certificate.pem
    key-file: @FOLDER@/key.pem
    ocsp-update-interval: 0
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:@BACKEND@/
        proxy.timeout.keepalive: 10000
";

const CADDY: &str = "\
{
    admin off
    auto_https off
    skip_install_trust
    servers {
        timeouts {
            idle @IDLE@s
        }
    }
}
http://127.0.0.1:@PLAIN@ {
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:@BACKEND@
}
https://127.0.0.1:@TLS@ {
    bind 127.0.0.1
    tls @FOLDER@/certificate.pem @FOLDER@/key.pem
    reverse_proxy 127.0.0.1:@BACKEND@
}
";
