/** Exact rational numbers over BigInt: what the oracles reckon in. */

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b)
}

export class Fraction {
  readonly numerator: bigint
  /** Always positive, and in lowest terms. */
  readonly denominator: bigint

  constructor(numerator: bigint, denominator = 1n) {
    const common = gcd(numerator < 0n ? -numerator : numerator, denominator)
    this.numerator = numerator / common
    this.denominator = denominator / common
  }

  plus(other: Fraction): Fraction {
    return new Fraction(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    )
  }

  minus(other: Fraction): Fraction {
    return this.plus(other.times(-1n))
  }

  times(factor: bigint): Fraction {
    return new Fraction(this.numerator * factor, this.denominator)
  }

  by(other: Fraction): Fraction {
    return new Fraction(this.numerator * other.numerator, this.denominator * other.denominator)
  }

  /** `other` is positive. */
  over(other: Fraction): Fraction {
    return new Fraction(this.numerator * other.denominator, this.denominator * other.numerator)
  }

  isAbove(other: Fraction): boolean {
    return this.numerator * other.denominator > other.numerator * this.denominator
  }

  equals(other: Fraction): boolean {
    return this.numerator === other.numerator && this.denominator === other.denominator
  }

  floor(): bigint {
    const quotient = this.numerator / this.denominator
    return quotient * this.denominator > this.numerator ? quotient - 1n : quotient
  }

  ceil(): bigint {
    return -this.times(-1n).floor()
  }
}

export function latest(a: Fraction, b: Fraction): Fraction {
  return a.isAbove(b) ? a : b
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

export function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
