//! `weir-echo serve` is the sample application, `weir-echo load` the client that counts what it gets.
use clap::{Parser, Subcommand};
use hyper::{HeaderMap, Method, Uri};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;
use weir_tests::{echo, load, watch};

#[derive(Parser)]
#[command(about = "The application and the client of Weir's demo")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer every request with what was received
    Serve {
        /// Address to listen on
        #[arg(long, env = "WEIR_ECHO_LISTEN", default_value = "0.0.0.0:8080")]
        listen: SocketAddr,
        /// The name given in answers
        #[arg(long, env = "HOSTNAME", default_value = "weir-echo")]
        name: String,
    },
    /// Send requests and print, as JSON, what came back
    Load {
        /// http://host:port/path
        url: Uri,
        /// How many requests
        #[arg(short = 'n', long, default_value_t = 20)]
        requests: u64,
        /// Over how many connections at once
        #[arg(short, long, default_value_t = 1)]
        connections: u64,
        /// Method of every request
        #[arg(short = 'X', long, default_value = "GET")]
        method: Method,
        /// Header of every request, "name: value"; may be given several times
        #[arg(short = 'H', long = "header", value_parser = load::parse_header)]
        headers: Vec<(hyper::header::HeaderName, hyper::header::HeaderValue)>,
        /// Pause of each connection after a response, in milliseconds
        #[arg(long, default_value_t = 0)]
        pause_ms: u64,
        /// Stop after so many seconds
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Ask again and again until every address answers with a header, and print the milliseconds that took
    Watch {
        /// http://host:port/path, one or several
        #[arg(required = true)]
        urls: Vec<Uri>,
        /// Header of every request, "name: value"; may be given several times
        #[arg(short = 'H', long = "header", value_parser = load::parse_header)]
        headers: Vec<(hyper::header::HeaderName, hyper::header::HeaderValue)>,
        /// Name of the awaited response header
        #[arg(long, default_value = "x-ratelimit-limit")]
        name: String,
        /// Its awaited value; without it, wait for a response that lacks the header
        #[arg(long)]
        value: Option<String>,
        /// Give up after so many seconds
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
}

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    runtime.block_on(async {
        match Arguments::parse().command {
            Command::Serve { listen, name } => match echo::serve(listen, name).await {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("can't serve on {listen}: {error}");
                    ExitCode::FAILURE
                }
            },
            Command::Load { url, requests, connections, method, headers, pause_ms, seconds } => {
                let headers = headers.into_iter().collect::<HeaderMap>();
                let (pause, at_most) = (Duration::from_millis(pause_ms), Duration::from_secs(seconds));
                let report =
                    load::run(load::Load { url, method, headers, requests, connections, pause, at_most }).await;
                match serde_json::to_string_pretty(&report) {
                    Ok(text) => println!("{text}"),
                    Err(error) => eprintln!("{error}"),
                }
                ExitCode::SUCCESS
            }
            Command::Watch { urls, headers, name, value, seconds } => {
                let (headers, at_most) = (headers.into_iter().collect(), Duration::from_secs(seconds));
                match watch::until_all(watch::Watch { urls, headers, name, value, at_most }).await {
                    Ok(took) => {
                        println!("{:.1}", took.as_secs_f64() * 1e3);
                        ExitCode::SUCCESS
                    }
                    Err(reason) => {
                        eprintln!("{reason}");
                        ExitCode::FAILURE
                    }
                }
            }
        }
    })
}
