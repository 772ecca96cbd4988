// The names that LaTeX has for letters and signs, as data.

const pairs = (text) => Object.fromEntries(text.trim().split(/\s+/).map((pair) => pair.split("=")));

export const GREEK = pairs(`
  alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ
  lambda=λ mu=μ nu=ν xi=ξ pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ upsilon=υ phi=ϕ varphi=φ
  chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω
  hbar=ℏ ell=ℓ Re=ℜ Im=ℑ aleph=ℵ infty=∞ emptyset=∅ varnothing=∅ partial=∂ nabla=∇ imath=ı jmath=ȷ
`);
export const SYMBOLS = pairs(`
  times=× cdot=⋅ div=÷ pm=± mp=∓ ast=∗ star=⋆ circ=∘ bullet=∙ oplus=⊕ ominus=⊖ otimes=⊗ odot=⊙ wedge=∧ vee=∨
  cap=∩ cup=∪ setminus=∖ leq=≤ le=≤ geq=≥ ge=≥ neq=≠ ne=≠ equiv=≡ approx=≈ sim=∼ simeq=≃ cong=≅ propto=∝ ll=≪ gg=≫
  prec=≺ succ=≻ subset=⊂ supset=⊃ subseteq=⊆ supseteq=⊇ in=∈ ni=∋ notin=∉ mid=∣ parallel=∥ perp=⊥ models=⊨ vdash=⊢
  forall=∀ exists=∃ nexists=∄ neg=¬ lnot=¬ land=∧ lor=∨ therefore=∴ because=∵ top=⊤ bot=⊥ angle=∠ degree=°
  to=→ rightarrow=→ leftarrow=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ implies=⟹ impliedby=⟸ iff=⟺
  mapsto=↦ longrightarrow=⟶ longleftarrow=⟵ Longrightarrow=⟹ uparrow=↑ downarrow=↓ hookrightarrow=↪ rightharpoonup=⇀
  ldots=… dots=… cdots=⋯ vdots=⋮ ddots=⋱ prime=′ sum=∑ prod=∏ coprod=∐ int=∫ iint=∬ iiint=∭ oint=∮ bigcup=⋃ bigcap=⋂
  bigoplus=⨁ bigotimes=⨂ bigvee=⋁ bigwedge=⋀ langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ lvert=| rvert=|
  lVert=‖ rVert=‖ vert=| Vert=‖ lbrace={ rbrace=} backslash=\\ colon=: dagger=† square=□ blacksquare=■ checkmark=✓ triangle=△
`);
export const BIG = new Set(
  "sum prod coprod bigcup bigcap bigoplus bigotimes bigvee bigwedge lim max min sup inf limsup liminf argmax argmin"
    .split(" ").map((name) => `\\${name}`),
);
export const FUNCTIONS = new Set(
  "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh exp log ln lg det dim ker gcd deg arg hom Pr lim max min sup inf limsup liminf argmax argmin mod bmod"
    .split(" "),
);
export const SPACES = { ",": "0.17em", ":": "0.22em", ";": "0.28em", "!": "-0.17em", " ": "0.25em", quad: "1em", qquad: "2em" };
// The sign, and whether it stands below.
export const ACCENTS = {
  hat: ["^"], widehat: ["^"], bar: ["¯"], overline: ["‾"], vec: ["→"], overrightarrow: ["→"], dot: ["˙"], ddot: ["¨"],
  tilde: ["~"], widetilde: ["~"], overbrace: ["⏞"], underline: ["_", true], underbrace: ["⏟", true],
};
export const ALPHABETS = {
  mathbb: { upper: 0x1d538, lower: 0x1d552, odd: { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" } },
  mathbf: { upper: 0x1d400, lower: 0x1d41a },
  boldsymbol: { upper: 0x1d400, lower: 0x1d41a },
  mathit: { upper: 0, lower: 0 },
  mathcal: { upper: 0x1d49c, lower: 0x1d4b6, odd: { B: "ℬ", E: "ℰ", F: "ℱ", H: "ℋ", I: "ℐ", L: "ℒ", M: "ℳ", R: "ℛ", e: "ℯ", g: "ℊ", o: "ℴ" } },
  mathfrak: { upper: 0x1d504, lower: 0x1d51e, odd: { C: "ℭ", H: "ℌ", I: "ℑ", R: "ℜ", Z: "ℨ" } },
};
// Tables, and what stands around them.
export const FENCED = {
  matrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"],
  cases: ["{", ""], aligned: ["", ""], align: ["", ""], array: ["", ""], gather: ["", ""], gathered: ["", ""],
};
