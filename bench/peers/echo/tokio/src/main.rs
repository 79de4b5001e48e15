// An echo server on Tokio: two worker threads, a task for each connection.
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn serve(mut socket: TcpStream) -> std::io::Result<()> {
    let mut buffer = [0u8; 4096];
    socket.set_nodelay(true)?;
    loop {
        let n = socket.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        socket.write_all(&buffer[..n]).await?;
    }
}

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|text| text.parse::<u16>().ok()).unwrap_or(0);
    let pool = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build()?;
    pool.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        loop {
            let (socket, _) = listener.accept().await?;
            tokio::spawn(serve(socket));
        }
    })
}
