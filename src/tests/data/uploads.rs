//! What an upload may cost before it is taken in.

use keepsake::export::UPLOAD_BYTES_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::pages::held_body::{UPLOAD, held_form, sign_in};
use crate::support::{TestApp, uploads_folder};

/// The upload came whole. Others import on this server too, and it takes in two files at a time.
#[track_caller]
fn is_received((status, said): (u16, String)) {
    assert!(status == 303 || said.contains("takes in 2 files right now"), "{status}: {said}");
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_user_has_one_upload_at_a_time_in_the_data_folder() {
    let (app, anna, ben) = TestApp::with_users().await;
    let annas = sign_in(app, &anna).await;
    let bens = sign_in(app, &ben).await;
    let start = async |cookie| held_form(app, cookie, "/data/import", UPLOAD).await;
    let first = start(&annas).await;
    let put_aside = std::fs::read_dir("/proc/self/fd").unwrap().any(|open| {
        let file = open.and_then(|open| std::fs::read_link(open.path()));
        file.is_ok_and(|file| file.starts_with(uploads_folder()))
    });
    assert!(put_aside, "in the data folder, and not where the system puts temporary files");
    let (status, said) = start(&annas).await.finish().await;
    assert_eq!(status, 429, "{said}");
    assert!(said.contains("Another upload of yours is under way"), "{said}");
    is_received(start(&bens).await.finish().await);
    is_received(first.finish().await);
}

#[tokio::test(crate = "crate::support::shared")]
async fn an_upload_that_says_it_is_too_large_is_refused_before_it_is_read() {
    let (app, anna) = TestApp::with_user().await;
    let cookie = sign_in(app, &anna).await;
    let host = app.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.unwrap();
    let mut head = format!(
        "POST /data/import HTTP/1.1\r\nhost: {host}\r\ncontent-length: {}\r\n",
        UPLOAD_BYTES_MAX + 1024 * 1024
    );
    for (name, value) in [
        ("cookie", cookie.as_str()),
        ("sec-fetch-site", "same-origin"),
        ("content-type", "multipart/form-data; boundary=x"),
    ] {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
    let mut said = [0; 12];
    let answered =
        tokio::time::timeout(std::time::Duration::from_secs(60), stream.read_exact(&mut said));
    answered.await.expect("not a byte of the body is waited for").unwrap();
    assert_eq!(&said, b"HTTP/1.1 413");
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_comes_before_the_file_is_bounded() {
    let (app, _, browser) = TestApp::with_browser().await;
    let send = async |body: String| {
        let request = browser.client.post(format!("{}/data/import", app.base));
        let request = request
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "multipart/form-data; boundary=x");
        let response = request.body(body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let head = |name: &str| format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n");
    let part = |name: &str, content: &str| format!("{}\r\n{content}\r\n", head(name));
    let file = format!("{}--x--\r\n", part("file", "{\"keepsake_export\":1}\n"));
    let long = "y".repeat(96 * 1024);
    for (what, body) in [
        ("no boundary", long.clone()),
        ("headers without an end", format!("{}x-long: {long}", head("file"))),
        ("another part", part("other", &long) + &file),
        ("many parts", part("other", "y").repeat(2_000) + &file),
    ] {
        let (status, said) = send(body).await;
        assert_eq!(status, 413, "{what}: {said}");
        assert!(said.contains("over 64 KiB before its file"), "{said}");
    }
    // A file of any size follows at once, whatever small comes before it.
    let large = part("file", &format!("{{\"keepsake_export\":1}}\n{}", " ".repeat(1 << 20)));
    let body = part("other", &long[..32 * 1024]) + &large + "--x--\r\n";
    is_received(send(body).await);
}
