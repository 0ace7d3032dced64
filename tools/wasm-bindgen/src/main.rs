//! `bindgen MODULE.wasm FOLDER`: writes the module and its JavaScript as `keepsake_bg.wasm` and
//! `keepsake.js`, without the names that a third of the bytes would be.

use anyhow::Context;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let module = arguments.next().context("MODULE.wasm is missing")?;
    let folder = arguments.next().context("FOLDER is missing")?;
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(false)
        .out_name("keepsake")
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)
}
