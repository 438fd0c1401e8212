//! No parameter is a tuple: things of different meanings have names, as arguments of their own or as fields of a struct. A
//! function returns at most two things.
//!
//! Collections and iterators of pairs may be parameters; an `Option` of a tuple may not.

use super::source::{files, program, split_at_depth_0};

/// The signature of a function.
#[derive(Debug, PartialEq)]
struct Signature<'p> {
    name: &'p str,
    parameters: Vec<&'p str>,
    /// Empty without a result.
    result: &'p str,
}

/// The signatures of all functions of a program.
fn functions(program: &str) -> Vec<Signature<'_>> {
    let mut found = Vec::new();
    for (at, _) in program.match_indices("fn ") {
        let before = program[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &program[at + 3..];
        let Some(open) = parameters_begin(rest) else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
        let parameters = split_at_depth_0(&rest[open + 1..]);
        found.push(Signature { name, parameters, result: result(&rest[open + 1..]) });
    }
    found
}

/// The type behind the parenthesis that closes a list of parameters.
fn result(parameters: &str) -> &str {
    let mut depth = 1;
    let end = parameters.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    let Some(rest) = end.and_then(|end| parameters[end + 1..].trim_start().strip_prefix("->"))
    else {
        return "";
    };
    rest.split(" where ").next().unwrap().split(['{', ';']).next().unwrap().trim()
}

/// Number of things in a result, if it is a tuple, also within `Result`, `Option` and iterators.
fn number_of_things(result: &str) -> usize {
    let wrappers =
        ["io::", "Result<", "Option<", "impl Iterator<Item = ", "impl ExactSizeIterator<Item = "];
    let mut ty = result;
    while let Some(inside) = wrappers.iter().find_map(|wrapper| ty.strip_prefix(wrapper)) {
        ty = inside.trim_start();
    }
    ty.strip_prefix('(').map_or(1, |inside| split_at_depth_0(inside).len())
}

/// The place of the parenthesis behind a function's name and generic parameters.
fn parameters_begin(text: &str) -> Option<usize> {
    let mut angles = 0;
    let mut last = ' ';
    for (i, c) in text.char_indices() {
        match c {
            '<' => angles += 1,
            '>' if last != '-' && last != '=' => angles -= 1,
            '(' if angles == 0 => return (i > 0).then_some(i),
            '{' | ';' => return None,
            _ => {}
        }
        last = c;
    }
    None
}

/// The names that are aliases of tuples in a program: those behind `keyword`.
fn tuple_aliases(program: &str, keyword: &str) -> Vec<String> {
    let aliases = program.split(keyword).skip(1).filter_map(|rest| {
        let (name, value) = rest.split_once('=')?;
        let name = name.split('<').next()?.trim();
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let value = value.trim_start();
        (is_name && value.starts_with('(') && !value.starts_with("()")).then(|| name.to_owned())
    });
    aliases.collect()
}

fn is_tuple(ty: &str, aliases: &[String]) -> bool {
    let mut ty = ty.trim();
    loop {
        let before = ty;
        for prefix in ["&", "mut ", "Option<", "dyn "] {
            ty = ty.strip_prefix(prefix).unwrap_or(ty).trim_start();
        }
        if let Some(lifetime) = ty.strip_prefix('\'') {
            ty =
                lifetime.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').trim_start();
        }
        if ty == before {
            break;
        }
    }
    let name = ty.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
    let is_tuple = ty.strip_prefix('(').is_some_and(|rest| split_at_depth_0(rest).len() > 1);
    is_tuple || aliases.iter().any(|alias| alias == name)
}

#[test]
fn no_parameter_is_a_tuple() {
    let programs: Vec<_> =
        files("src").into_iter().map(|(path, content)| (path, program(&content))).collect();
    let public: Vec<String> =
        programs.iter().flat_map(|(_, program)| tuple_aliases(program, "pub type ")).collect();
    let mut wrong = Vec::new();
    for (path, program) in &programs {
        let aliases = [public.clone(), tuple_aliases(program, "type ")].concat();
        for Signature { name, parameters, .. } in functions(program) {
            for parameter in parameters {
                let pattern = parameter.trim_start().trim_start_matches("mut ").starts_with('(');
                let ty = parameter.split_once(": ").map_or("", |(_, ty)| ty);
                if pattern || is_tuple(ty, &aliases) {
                    let parameter: Vec<_> = parameter.split_whitespace().collect();
                    wrong.push(format!("{path}: {name}({})", parameter.join(" ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "name these things, as arguments or fields of a struct: {wrong:#?}");
}

#[test]
fn no_function_returns_more_than_two_things() {
    let mut wrong = Vec::new();
    for (path, content) in files("src") {
        for Signature { name, result, .. } in functions(&program(&content)) {
            if number_of_things(result) > 2 {
                wrong.push(format!("{path}: {name} -> {result}"));
            }
        }
    }
    assert!(wrong.is_empty(), "return a struct with named fields: {wrong:#?}");
}

#[test]
fn tuples_are_found() {
    let code = "pub(in crate::x) fn f<F: Fn(u8) -> u8>(&self, (a, b): Pair, c: Option<(u8, u8)>) -> Option<(u8, &str, u8)> {}";
    let functions = functions(code);
    let parameters = vec!["&self", " (a, b): Pair", " c: Option<(u8, u8)>"];
    assert_eq!(functions, [Signature { name: "f", parameters, result: "Option<(u8, &str, u8)>" }]);
    assert_eq!(number_of_things("Option<(u8, &str, u8)>"), 3);
    assert_eq!(number_of_things("Vec<(u8, u8, u8)>"), 1);

    let aliases = ["Pair".to_owned()];
    for tuple in ["(u8, u8)", "&'a (u8, u8)", "Option<(u8, u8)>", "Option<&Pair>", "&mut Pair"] {
        assert!(is_tuple(tuple, &aliases), "{tuple}");
    }
    for other in
        ["()", "&[(u8, u8)]", "impl Iterator<Item = (u8, u8)>", "Vec<Pair>", "(dyn Any + Send)"]
    {
        assert!(!is_tuple(other, &aliases), "{other}");
    }
    let code = "type Pair<'a> = (u8, u8); type Other = [u8; 2]; type Nothing = ();";
    assert_eq!(tuple_aliases(code, "type "), ["Pair"]);
}
