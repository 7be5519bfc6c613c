//! The README's example is a file, it runs, and the README shows it word for word.

#[path = "../examples/first_steps.rs"]
#[allow(dead_code)]
mod first_steps;

#[test]
fn the_example_runs() {
    first_steps::main().expect("the example succeeds");
}

#[test]
fn the_readme_shows_it() {
    let code = include_str!("../examples/first_steps.rs");
    let (_, code) = code.split_once("\n\n").expect("a first line that says what it is");
    assert!(include_str!("../../README.md").contains(code));
}
